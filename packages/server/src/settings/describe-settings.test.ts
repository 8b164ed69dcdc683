import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { describeSettings } from './describe-settings.ts';
import * as setting from './kinds.ts';

describe('describeSettings', () => {
  it('returns the accepted values, the default and the meaning of each setting', () => {
    const schema = z.object({
      PORT: setting.port(80).describe('The port.'),
      METRICS: setting.portOrOff.describe('The other port.'),
      KEY: setting.keyText,
      FILE: setting.file.optional().describe('A file.'),
      NAME: z.string().optional(),
    });
    expect(describeSettings(schema)).toEqual([
      {
        ...{ name: 'PORT', isRequired: false, takes: 'a port number from 0 to 65535' },
        ...{ defaultValue: '80', meaning: 'The port.' },
      },
      {
        ...{ name: 'METRICS', isRequired: false, takes: '`off` or a port number from 0 to 65535' },
        ...{ defaultValue: 'off', meaning: 'The other port.' },
      },
      {
        ...{ name: 'KEY', isRequired: true, takes: '32 bytes as base64 or as 64 hex characters' },
        ...{ defaultValue: undefined, meaning: undefined },
      },
      {
        ...{ name: 'FILE', isRequired: false, takes: 'the path of a file' },
        ...{ defaultValue: undefined, meaning: 'A file.' },
      },
      { name: 'NAME', isRequired: false, takes: undefined, defaultValue: undefined, meaning: undefined },
    ]);
  });
});
