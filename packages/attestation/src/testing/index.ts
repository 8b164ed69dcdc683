/**
 * Machines under test roots, for tests that need evidence which no vendor made. The package's entry refuses it. Recorded
 * evidence, and the readers that the fuzzer tries. Importing this reads no file, because tests bundle it.
 */

export { fromBase64, fromHex, toBase64 } from '../bytes.ts';
export { parseEventLog } from '../dstack/event-log.ts';
export { identityFromConfig, identityFromEvents } from '../dstack/identity.ts';
export { verifyGatewayUnder } from '../gateway/verify-gateway.ts';
export { readFirmware } from '../measure/firmware.ts';
export { launchDigest } from '../measure/snp/launch-digest.ts';
export { acpiFiles, vcpusIn } from '../measure/tdx/acpi-tables.ts';
export { memoryMap } from '../measure/tdx/memory-map.ts';
export { mrTd } from '../measure/tdx/mr-td.ts';
export { acpiDigests, kernelEvents, platformEvents } from '../measure/tdx/registers.ts';
export { tdSectionsOf } from '../measure/tdx/td-sections.ts';
export { verifyProviderUnder } from '../provider/verify-provider.ts';
export { Refusal } from '../refusal.ts';
export { readEndorsement } from '../snp/endorsement.ts';
export { parseSnpReport } from '../snp/report.ts';
export { verifySnpUnder } from '../snp/verify-snp.ts';
export { canonicalJson } from '../statement/canonical-json.ts';
export { pckPlatformOf } from '../tdx/pck-extension.ts';
export { parseTdxQuote } from '../tdx/quote.ts';
export { verifyTdxUnder } from '../tdx/verify-tdx.ts';
export { parseCertificate, parsePemChain, requireAuthority, requireUnderstood } from '../x509/certificate.ts';
export { type DerElement, derChildren, derInteger, derObjectIdentifier, derTime, readDer } from '../x509/der.ts';
export { certifyServer, Issuer, type ServerCredentials, toPem } from './issuer.ts';
export { madeFirmware, madeInitrd, madeKernel } from './made-image.ts';
export { certificateTable, SnpMachine } from './snp-machine.ts';
export { type CollateralSettings, type MachineSettings, TdxMachine } from './tdx-machine.ts';
export {
  flipped,
  vectorBytes,
  vectorCertificate,
  vectorDstackQuote,
  vectorInflated,
  vectorJson,
  vectorText,
} from './vectors.ts';
