export default {
  extensions: { ts: 'module' },
  nodeArguments: ['--import=tsx'],
  workerThreads: false,
  timeout: '3m',
  // Those of a real GPU are run by `npm run test:gpu` alone.
  files: ['test/**/*.test.ts', ...(process.env.USM_IPC_TEST_GPU === '1' ? ['test/gpu/*.gpu.ts'] : [])],
}
