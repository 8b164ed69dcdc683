// Node only: how a machine comes by evidence about itself. Verifiers are behind the package's main door.
export {
  type AttestationMode,
  attestationModes,
  chooseProducer,
  type MachineAbilities,
  type ProducerChoice,
} from './choose.ts';
export { probeMachine } from './probe.ts';
export { EvidenceError, type EvidenceProducer } from './producer.ts';
export { simulatedProducer } from './simulated.ts';
