import type { Bytes } from '../bytes.ts';

/** The files that a host boots directly, without a boot loader. */
export interface DirectBoot {
  readonly kernel: Bytes;
  /** Empty if the host passes none. TDX needs one. */
  readonly initrd: Bytes;
  readonly commandLine: string;
}
