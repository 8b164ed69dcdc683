import { describeStage } from '../kit/stage/describe-stage.ts';
import { scriptedModel } from '../kit/stage/scripted-model.ts';
import type { StageSpec } from '../kit/stage/spec.ts';
import type { Stage } from '../kit/stage/stage.ts';

// A gated request lasts for as long as a busy machine takes to reload the catalog.
const spec: StageSpec = {
  ...scriptedModel(),
  providers: { alpha: { server: 'scripted', timeouts: { first_byte_ms: 120_000 } } },
};

/** Runs tests that need a broker and a control on one Redis, and no other models than `m/one`. */
export const describeTwoProcesses = (name: string, ...suites: ((stage: Stage) => void)[]): Promise<void> =>
  describeStage(
    name,
    spec,
    (stage) => {
      for (const suite of suites) suite(stage);
    },
    { planes: ['two'], spares: {} },
  );
