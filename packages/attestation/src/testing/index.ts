// Machines under test roots, for tests that need evidence which no vendor made. The package's entry refuses it.
export { verifyGatewayUnder } from '../gateway/verify-gateway.ts';
export { verifyProviderUnder } from '../provider/verify-provider.ts';
export { verifySnpUnder } from '../snp/verify-snp.ts';
export { verifyTdxUnder } from '../tdx/verify-tdx.ts';
export { certifyServer, Issuer, type ServerCredentials, toPem } from './issuer.ts';
export { certificateTable, SnpMachine } from './snp-machine.ts';
export { type CollateralSettings, type MachineSettings, TdxMachine } from './tdx-machine.ts';
