/** Features that are off unless an operator turns them on, with the settings that do. */
const settings = {
  images: { IMAGE_GENERATION: 'on' },
  speech: { SPEECH_SYNTHESIS: 'on' },
  /** Evidence of the service itself, without the hardware. */
  evidence: { ATTESTATION: 'simulated' },
  'connected apps': { CONNECTED_APPS: 'on' },
  'test payments': { BILLING_TEST_RAIL: 'on' },
} as const;

export type Feature = keyof typeof settings;

/** Returns the settings of a stage with these features. Embedded mode has media on by default, and other modes have not. */
export const settingsOf = (features: readonly Feature[] | undefined): Readonly<Record<string, string>> =>
  features === undefined
    ? {}
    : Object.assign({ IMAGE_GENERATION: 'off', SPEECH_SYNTHESIS: 'off' }, ...features.map((name) => settings[name]));
