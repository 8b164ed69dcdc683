// Machines under roots of their own, for tests that need evidence which no vendor made. The package's entry refuses it.
export { verifyGatewayUnder } from '../gateway/verify-gateway.ts';
export { verifyProviderUnder } from '../provider/verify-provider.ts';
export { verifySnpUnder } from '../snp/verify-snp.ts';
export { verifyTdxUnder } from '../tdx/verify-tdx.ts';
export { SnpMachine } from './snp-machine.ts';
export { TdxMachine } from './tdx-machine.ts';
