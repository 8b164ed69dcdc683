import * as z from 'zod';

const version = z.int().min(0).max(255).optional();
const oneProduct = z
  .strictObject({ fmc: version, bootloader: version, tee: version, snp: version, microcode: version })
  .optional();

/** The oldest firmware that pins accept, by product. Omitted parts are not checked. */
export const minimumTcbSchema = z.strictObject({ milan: oneProduct, genoa: oneProduct, turin: oneProduct });
