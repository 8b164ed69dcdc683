/** Rules of routing (docs/routing.md, section 1) in a word or two. */
const names: Readonly<Record<string, string>> = {
  boundary: 'boundary',
  encryption: 'encryption',
  floor: 'privacy floor',
  only: 'not named',
  ignore: 'disabled',
  capability: 'capability',
  parameters: 'parameters',
  price: 'price',
  context: 'context window',
  step_down: 'step down',
  attempts: 'attempts',
  model: 'model',
};

export const ruleName = (rule: string): string => names[rule] ?? rule;
