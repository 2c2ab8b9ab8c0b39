meta:
  id: usm_ipc_envelope
  title: usm-ipc envelope, version 0
  license: Apache-2.0
  ks-version: 0.11
  endian: le
doc: |
  A vendor's IPC memory handle with what it is, whose it is and which range of memory it shares. Ids are the core's field
  names. This describes structure only: docs/wire-format.md has the rules that an envelope must obey besides.
seq:
  - id: header
    type: header
  - id: sections
    type: section
    repeat: expr
    repeat-expr: header.section_count
  - id: crc32c
    type: u4
    doc: CRC-32C (Castagnoli) of everything before it
  - id: tag
    size: 32
    if: header.flags & 1 != 0
    doc: HMAC-SHA256 of the 19 bytes "usm-ipc envelope 0", 0 and everything before it, under the key of key_id
enums:
  kind:
    1: memory
    2: physical_memory
    3: event
    4: remote_memory
  backend:
    1: host
    2: level_zero
    3: sycl
    4: cuda
  layout:
    1: host
    2: sycl_umf_level_zero_v2
    3: sycl_umf_level_zero_v1
    4: level_zero_classic
    5: level_zero_opaque
    6: cuda
    7: torch_cuda
    8: sycl_umf_cuda
    9: cuda_vmm
    10: cuda_pool
    11: cuda_event
  section_type:
    1: handle
    2: further_handle
    3: descriptors
    4: array
    5: name
  entry_kind:
    1: memfd
    2: dma_buf
    3: opaque
  further_role:
    1: event
types:
  header:
    seq:
      - id: magic
        contents: USMIPC
      - id: major
        type: u1
        valid: 0
      - id: minor
        type: u1
      - id: header_length
        type: u2
        valid:
          min: 152
      - id: flags
        type: u2
        doc: bit 0 is authenticated
      - id: total_length
        type: u4
        valid:
          max: 16384
      - id: kind
        type: u1
        enum: kind
      - id: backend
        type: u1
        enum: backend
      - id: layout
        type: u2
        enum: layout
      - id: section_count
        type: u2
      - id: header_check
        type: u1
        doc: XOR of bytes 8 to 23 but itself, and 0x55
      - id: reserved
        type: u1
      - id: device_uuid
        size: 16
      - id: allocation_size
        type: u8
      - id: offset
        type: u8
      - id: nbytes
        type: u8
      - id: allocation_random
        type: u8
      - id: allocation_counter
        type: u8
      - id: pid
        type: u4
      - id: key_id
        type: u4
        doc: of the key that makes the tag; 0 where there is none
      - id: start_time
        type: u8
      - id: pid_namespace
        type: u8
      - id: boot_id
        size: 16
      - id: created
        type: u8
        doc: milliseconds since 1970
      - id: expires
        type: u8
        doc: milliseconds since 1970; 0 is never
      - id: nonce
        size: 16
      - id: header_extension
        size: header_length - 152
        if: header_length > 152
        doc: what a later minor version appended
  section:
    seq:
      - id: section_type
        type: u2
        enum: section_type
      - id: section_flags
        type: u1
        doc: bit 0 is critical
      - id: section_check
        type: u1
        doc: XOR of the section header's other seven bytes, and 0x55
      - id: section_length
        type: u4
      - id: body
        size: section_length
        if: section_length > 0
        type:
          switch-on: section_type
          cases:
            section_type::handle: handle
            section_type::further_handle: further_handle
            section_type::descriptors: descriptors
            section_type::array: array_metadata
            section_type::name: name_text
            _: unknown
      - id: padding
        size: (8 - section_length % 8) % 8
        if: section_length % 8 != 0
  unknown:
    seq:
      - id: section_bytes
        size-eos: true
  further_handle:
    seq:
      - id: further_role
        type: u4
        enum: further_role
      - id: further_reserved
        size: 4
      - id: further_bytes
        size-eos: true
  descriptors:
    seq:
      - id: entries
        type: entry
        repeat: eos
  entry:
    seq:
      - id: entry_kind
        type: u4
        enum: entry_kind
      - id: entry_reserved
        size: 4
      - id: entry_st_dev
        type: u8
      - id: entry_st_ino
        type: u8
  array_metadata:
    seq:
      - id: dtype_code
        type: u1
        doc: DLPack 1.1's (0 int, 1 uint, 2 float, 3 opaque, 4 bfloat, 5 complex, 6 bool, 7 to 17 floats of 8, 6 and 4 bits)
      - id: dtype_bits
        type: u1
      - id: dtype_lanes
        type: u2
      - id: ndim
        type: u4
      - id: array_reserved
        size: 8
      - id: dimensions
        type: dimension
        repeat: expr
        repeat-expr: ndim
  dimension:
    seq:
      - id: shape
        type: s8
      - id: stride
        type: s8
        doc: in elements
  name_text:
    seq:
      - id: name
        type: str
        encoding: UTF-8
        size-eos: true
  handle:
    seq:
      - id: vendor
        type:
          switch-on: _root.header.layout
          cases:
            layout::host: host
            layout::sycl_umf_level_zero_v2: sycl_umf_level_zero_v2
            layout::sycl_umf_level_zero_v1: sycl_umf_level_zero_v1
            layout::level_zero_classic: level_zero_classic
            layout::level_zero_opaque: level_zero_opaque
            layout::cuda: cuda
            layout::torch_cuda: torch_cuda
            layout::sycl_umf_cuda: sycl_umf_cuda
            layout::cuda_vmm: cuda_vmm
            layout::cuda_pool: cuda_pool
            layout::cuda_event: cuda_event
  host:
    seq:
      - id: host_st_dev
        type: u8
      - id: host_st_ino
        type: u8
      - id: host_size
        type: u8
      - id: host_fd
        type: s4
      - id: host_flags
        type: u4
        doc: bit 0 is read-only
  umf_head:
    seq:
      - id: umf_handle_id
        type: u8
      - id: umf_base
        type: u8
      - id: umf_pid
        type: s4
      - id: padding
        size: 4
      - id: umf_base_size
        type: u8
      - id: umf_offset
        type: u8
  sycl_umf_level_zero_v2:
    seq:
      - id: head
        type: umf_head
      - id: umf_inner_pid
        type: s4
      - id: padding
        size: 4
      - id: umf_inner_size
        type: u8
      - id: inner
        type: level_zero_either
  sycl_umf_level_zero_v1:
    seq:
      - id: head
        type: umf_head
      - id: umf_inner_pid
        type: s4
      - id: inner
        type: level_zero_either
  sycl_umf_cuda:
    seq:
      - id: head
        type: umf_head
      - id: inner
        type: cuda
  level_zero_start:
    seq:
      - id: ze_fd
        type: s4
      - id: padding
        size: 4
      - id: ze_pool_offset
        type: u8
  level_zero_classic:
    seq:
      - id: start
        type: level_zero_start
      - id: ze_memory_type
        type: u1
      - id: padding
        size: 47
  level_zero_opaque:
    seq:
      - id: start
        type: level_zero_start
      - id: ze_pid
        type: s4
      - id: tail
        type: level_zero_tail
  level_zero_either:
    doc: inside a SYCL handle, where nothing says which of the two forms it is
    seq:
      - id: start
        type: level_zero_start
      - id: ze_pid_or_memory_type
        type: u4
      - id: tail
        type: level_zero_tail
  level_zero_tail:
    seq:
      - id: ze_handle_type
        type: u1
      - id: ze_memory_type
        type: u1
      - id: ze_mirror
        type: u8
      - id: ze_reserved
        size: 32
      - id: ze_compressed
        type: u1
      - id: padding
        size: 1
  cuda:
    seq:
      - id: cuda_opaque
        size: 8
      - id: cuda_observed_pid
        type: u8
      - id: cuda_observed_size
        type: u8
      - id: rest
        type: cuda_rest
  cuda_rest:
    seq:
      - id: cuda_opaque
        size: 40
  torch_cuda:
    seq:
      - id: torch_version
        type: u1
      - id: torch_type
        type: str
        encoding: ASCII
        size: 1
      - id: inner
        type: cuda
  cuda_vmm:
    seq:
      - id: cuda_vmm_size
        type: u8
        doc: of the physical memory
      - id: cuda_vmm_fd
        type: s4
      - id: padding
        size: 20
  cuda_pool:
    doc: CUDA's CUmemPoolPtrExportData
    seq:
      - id: cuda_observed_pid
        type: u4
      - id: before_size
        type: cuda_pool_before_size
      - id: cuda_observed_size
        type: u8
      - id: cuda_opaque
        size: 24
  cuda_pool_before_size:
    seq:
      - id: cuda_opaque
        size: 28
  cuda_event:
    doc: CUDA's CUipcEventHandle
    seq:
      - id: cuda_observed_pid
        type: u4
      - id: cuda_opaque
        size: 60
