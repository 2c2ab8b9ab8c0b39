// Which layouts there are, whose they are, and the way to their functions.
import { fail } from "../fail";
import { Verdict } from "../verdict";
import { BackendCode, DescriptorKind, Kind, Layout } from "../wire";
import * as cuda from "./cuda";
import * as event from "./cuda_event";
import * as pool from "./cuda_pool";
import * as vmm from "./cuda_vmm";
import * as host from "./host";
import * as classic from "./level_zero_classic";
import * as opaque from "./level_zero_opaque";
import * as syclCuda from "./sycl_umf_cuda";
import * as syclV1 from "./sycl_umf_level_zero_v1";
import * as syclV2 from "./sycl_umf_level_zero_v2";
import * as torch from "./torch_cuda";

/** The backend that a layout belongs to, 0 for an unknown layout. */
export function layoutBackend(layout: i32): i32 {
  switch (layout) {
    case Layout.Host: return BackendCode.Host;
    case Layout.SyclUmfLevelZeroV2:
    case Layout.SyclUmfLevelZeroV1:
    case Layout.SyclUmfCuda: return BackendCode.Sycl;
    case Layout.LevelZeroClassic:
    case Layout.LevelZeroOpaque: return BackendCode.LevelZero;
    case Layout.Cuda:
    case Layout.TorchCuda:
    case Layout.CudaVmm:
    case Layout.CudaPool:
    case Layout.CudaEvent: return BackendCode.Cuda;
    default: return 0;
  }
}

export function layoutKind(layout: i32): i32 {
  return layout == Layout.CudaEvent ? Kind.Event : Kind.Memory;
}

/** The kind of the one descriptor without which nothing opens the handle; 0 where the layout does not say. */
export function layoutDescriptor(layout: i32): i32 {
  switch (layout) {
    case Layout.Host: return DescriptorKind.Memfd;
    case Layout.CudaVmm:
    case Layout.CudaPool: return DescriptorKind.Opaque;
    default: return 0;
  }
}

function matches(layout: i32, length: u32): bool {
  switch (layout) {
    case Layout.Host: return host.matches(length);
    case Layout.SyclUmfLevelZeroV2: return syclV2.matches(length);
    case Layout.SyclUmfLevelZeroV1: return syclV1.matches(length);
    case Layout.LevelZeroClassic: return classic.matches(length);
    case Layout.LevelZeroOpaque: return opaque.matches(length);
    case Layout.Cuda: return cuda.matches(length);
    case Layout.TorchCuda: return torch.matches(length);
    case Layout.SyclUmfCuda: return syclCuda.matches(length);
    case Layout.CudaVmm: return vmm.matches(length);
    case Layout.CudaPool: return pool.matches(length);
    case Layout.CudaEvent: return event.matches(length);
    default: return false;
  }
}

/** The vendor handle by itself, and with `header` (an envelope's address, or 0) that both agree. */
export function checkHandle(layout: i32, p: u32, length: u32, header: u32): Verdict {
  if (!matches(layout, length)) return fail(Verdict.BadHandleLength, p);
  switch (layout) {
    case Layout.Host: return host.check(p, header);
    case Layout.SyclUmfLevelZeroV2: return syclV2.check(p, header);
    case Layout.SyclUmfLevelZeroV1: return syclV1.check(p, header);
    case Layout.LevelZeroClassic: return classic.check(p, header);
    case Layout.LevelZeroOpaque: return opaque.check(p, header);
    case Layout.Cuda: return cuda.check(p, header);
    case Layout.TorchCuda: return torch.check(p, header);
    case Layout.SyclUmfCuda: return syclCuda.check(p, header);
    case Layout.CudaVmm: return vmm.check(p, header);
    case Layout.CudaPool: return pool.check(p, header);
    case Layout.CudaEvent: return event.check(p, header);
    default: return fail(Verdict.UnknownLayout, p);
  }
}

/** Appends the handle's fields; false when the length is not the layout's. */
export function describeHandle(layout: i32, p: u32, length: u32): bool {
  if (!matches(layout, length)) return false;
  switch (layout) {
    case Layout.Host: host.describe(p); break;
    case Layout.SyclUmfLevelZeroV2: syclV2.describe(p); break;
    case Layout.SyclUmfLevelZeroV1: syclV1.describe(p); break;
    case Layout.LevelZeroClassic: classic.describe(p); break;
    case Layout.LevelZeroOpaque: opaque.describe(p); break;
    case Layout.Cuda: cuda.describe(p); break;
    case Layout.TorchCuda: torch.describe(p); break;
    case Layout.SyclUmfCuda: syclCuda.describe(p); break;
    case Layout.CudaVmm: vmm.describe(p); break;
    case Layout.CudaPool: pool.describe(p); break;
    case Layout.CudaEvent: event.describe(p); break;
    default: return false;
  }
  return true;
}
