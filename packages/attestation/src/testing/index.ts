/**
 * Machines under test roots, for tests that need evidence which no vendor made. The package's entry refuses it. Recorded
 * evidence, and what the fuzzer uses. Importing this reads no file, because tests bundle it.
 */

export { verifyGatewayUnder } from '../gateway/verify-gateway.ts';
export { verifyProviderUnder } from '../provider/verify-provider.ts';
export { Refusal } from '../refusal.ts';
export { verifySnpUnder } from '../snp/verify-snp.ts';
export { verifyTdxUnder } from '../tdx/verify-tdx.ts';
export { certifyServer, Issuer, type ServerCredentials, toPem } from './issuer.ts';
export { madeFirmware, madeInitrd, madeKernel } from './made-image.ts';
export { mutate, SeededRandom } from './mutate.ts';
export { certificateTable, SnpMachine } from './snp-machine.ts';
export { type CollateralSettings, type MachineSettings, TdxMachine } from './tdx-machine.ts';
export { flipped, vectorBytes, vectorCertificate, vectorDstackQuote, vectorInflated, vectorJson } from './vectors.ts';
