/** The process that bench/bytes.ts sends bytes to: over node's IPC, and over a Unix socket that it connects to. Answers when it has all of them. */
import { connect } from 'node:net'

const [path, nbytes] = [process.argv[2]!, Number(process.argv[3])]
const target = new Uint8Array(nbytes).fill(1)
const chunk = Buffer.allocUnsafe(2 ** 20)
let received = 0

const socket = connect({
  path,
  onread: {
    buffer: chunk,
    callback: (length) => {
      target.set(chunk.subarray(0, length), received)
      received += length
      if (received === nbytes) {
        received = 0
        socket.write('.')
      }
      return true
    },
  },
})

process.on('message', (bytes: Uint8Array) => process.send!(bytes.length))
process.on('disconnect', () => process.exit())
