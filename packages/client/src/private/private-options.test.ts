import { expect, it } from 'vitest';
import * as browser from '../browser.ts';
import { ClientError } from '../errors.ts';
import * as node from '../index.ts';

const options = { apiKey: 'key', controlOrigin: 'https://control.example', baseOrigin: 'https://broker.example' };
const pins = { gateway: {} };

/** The options with one invalid value, which JavaScript allows. */
const doors: Readonly<Record<string, (changes: object) => unknown>> = {
  'createPrivateFetch of Node': (changes) => node.createPrivateFetch({ ...options, ...changes }),
  'createE2eeChat of Node': (changes) => node.createE2eeChat({ ...options, ...changes }),
  'createPrivateFetch of browsers': (changes) => browser.createPrivateFetch({ ...options, ...changes }),
  'createE2eeChat of browsers': (changes) => browser.createE2eeChat({ ...options, ...changes }),
};

function refusal(make: () => unknown): ClientError {
  try {
    make();
  } catch (error) {
    if (error instanceof ClientError) return error;
    throw error;
  }
  return expect.unreachable('the options were taken');
}

const wrong: [string, object, RegExp][] = [
  ['minimumVerdict', { minimumVerdict: 'hardware-verified' }, /must be one of `policy_matched`, .*; it is "hardware-/],
  ['minimumVerdict', { minimumVerdict: '' }, /it is ""/],
  ['minimumVerdict', { minimumVerdict: null }, /it is null/],
  ['minimumVerdict', { minimumVerdict: 'untrusted' }, /it is "untrusted"/],
  [
    'minimumEnclaveVerdict',
    { minimumEnclaveVerdict: 'hardware_verified' },
    /`policy_matched`, `cryptographically_checked`;/,
  ],
  ['minimumEnclaveVerdict', { minimumEnclaveVerdict: 'Policy_matched' }, /it is "Policy_matched"/],
  ['minimumVerdit', { minimumVerdit: 'hardware_verified' }, /`minimumVerdit` is unknown; the options are `apiKey`, /],
  ['allowSimulated', { allowSimulated: 'false' }, /must be `true` or `false`; it is "false"/],
  ['e2eeOnly', { e2eeOnly: 0 }, /must be `true` or `false`; it is 0/],
  ['e2eeOnly', { e2eeOnly: 'true' }, /it is "true"/],
  ['maxAgeMs', { maxAgeMs: '600000' }, /must be a number of ms above 0/],
  ['maxAgeMs', { maxAgeMs: Number.NaN }, /it is NaN/],
  ['ticketsAhead', { ticketsAhead: -1 }, /must be a whole number from 0 on/],
  ['onVerified', { onVerified: true }, /must be a function; it is true/],
  ['now', { now: 5 }, /must be a function/],
  ['apiKey', { apiKey: undefined }, /must be a text that is not empty/],
  ['controlOrigin', { controlOrigin: 5 }, /must be a text that is not empty/],
  ['pins', { pins: null }, /`pins` cannot be used: it must be an object/],
  ['pins', { pins: { gateway: {}, gatway: {} } }, /it has an unknown field: `gatway`/],
  ['pins', { pins: { gateway: { tdx: { platform: [] } } } }, /`gateway\.tdx/],
  ['pins', { pins: { gateway: { require_provenance: 'true' } } }, /`gateway\.require_provenance` must be a boolean/],
  [
    'pins',
    { pins: { gateway: {}, providers: { acme: { measurements: [] } } } },
    /`providers\.acme\.family` must be one of near,/,
  ],
  [
    'pins',
    { pins: { gateway: {}, providers: { acme: { family: 'nera' } } } },
    /`providers\.acme\.family` must be one of near,/,
  ],
  [
    'pins',
    { pins: { gateway: {}, providers: { acme: { family: 'near', model: {} } } } },
    /`providers\.acme` has an unknown field: `model`/,
  ],
];

it.each(Object.entries(doors))('%s refuses an option that is misspelt or of another type', (_, make) => {
  expect(make({ pins, minimumVerdict: undefined, minimumEnclaveVerdict: 'policy_matched' })).toBeTypeOf('function');
  for (const [name, changes, message] of wrong) {
    const error = refusal(() => make(changes));
    expect(error, name).toMatchObject({ code: 'option_invalid', param: name });
    expect(error.message).toMatch(message);
    expect(error.message).not.toMatch(/Invalid input|expected|received|Unrecognized/);
  }
});

it('never quotes the key in an error', () => {
  const secret = ['sotto_inf_secret'];
  expect(refusal(() => node.createPrivateFetch({ ...options, apiKey: secret as never })).message).not.toContain(
    'sotto',
  );
});

it('accepts `selfSigned` only in Node and only as a boolean: the text "false" would switch it on', async () => {
  const selfSigned = 'false' as never;
  const error = { code: 'option_invalid', param: 'selfSigned' };
  expect(refusal(() => node.createPrivateFetch({ ...options, selfSigned }))).toMatchObject(error);
  expect(refusal(() => node.createE2eeChat({ ...options, selfSigned }))).toMatchObject(error);
  expect(refusal(() => browser.createPrivateFetch({ ...options, selfSigned: true } as never))).toMatchObject(error);
  await expect(node.verify('https://broker.example', { selfSigned })).rejects.toMatchObject(error);
});

it.each([
  ['of Node', node.verify],
  ['of browsers', browser.verify],
] as const)('verify %s refuses such options, too', async (_, verify) => {
  const enclave = { model: 'm', apiKey: 'key', controlOrigin: 'https://control.example' };
  for (const [name, given] of [
    ['pin', { pin: pins }],
    ['pins', { pins: { gateway: { tdx: {} } } }],
    ['signal', { signal: 5 }],
    ['enclave', { enclave: 'm' }],
    ['enclave.privacyClass', { enclave: { ...enclave, privacyClass: 'private' } }],
    ['enclave.model', { enclave: { ...enclave, model: undefined } }],
    ['enclave.baseOrigin', { enclave: { ...enclave, baseOrigin: 'x' } }],
  ] as const) {
    await expect(verify('https://broker.example', given as never), name).rejects.toMatchObject({
      code: 'option_invalid',
      param: name,
    });
  }
});
