import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkCatalog } from '../parse-catalog.ts';
import { type Imported, type ImportOptions, importModels, writeCatalog } from './import-models.ts';

const options: ImportOptions = {
  provider: 'acme',
  creator: 'acme',
  privacyClass: 'anonymous',
  asOf: '2026-11-01',
  given: {},
};
const registry = {
  digest: 'r',
  providers: [{ id: 'acme', name: 'Acme', listed: true, privacy_class: 'anonymous' as const, available: true }],
};

/** An entry in OpenRouter's format. */
const entry = {
  id: 'lab/one',
  name: 'Lab: One',
  context_length: 200_000,
  architecture: { input_modalities: ['text', 'image'], output_modalities: ['text'] },
  pricing: { prompt: '0.000002', completion: '0.000008', input_cache_read: '0.0000005' },
  top_provider: { context_length: 128_000, max_completion_tokens: 16_384 },
  supported_parameters: ['tools', 'tool_choice', 'temperature', 'structured_outputs', 'max_tokens'],
};
const { architecture, pricing } = entry;

function imported(list: unknown, changes: Partial<ImportOptions> = {}): Imported {
  const made = importModels(list, { ...options, ...changes });
  if (made === undefined) throw new Error('no list');
  return made;
}
const from = (changes: object, more: Partial<ImportOptions> = {}) =>
  imported({ data: [{ ...entry, ...changes }] }, more);
function modelFrom(changes: object, more: Partial<ImportOptions> = {}) {
  const { file, leftOut } = from(changes, more);
  expect(leftOut).toEqual([]);
  return file.models[0];
}
const routeFrom = (changes: object) => modelFrom(changes)?.routes[0];
const reasonFor = (changes: object, more: Partial<ImportOptions> = {}): string | undefined => {
  const { file, leftOut } = from(changes, more);
  expect(file.models).toEqual([]);
  return leftOut[0]?.reason;
};

describe('importModels: an entry of OpenRouter', () => {
  it('becomes a model with one route, to the provider whose list it is', () => {
    expect(modelFrom({})).toEqual({
      id: 'lab/one',
      name: 'Lab: One',
      model_type: 'text',
      context_length: 128_000,
      max_output_tokens: 16_384,
      routes: [
        {
          provider: 'acme',
          upstream_model: 'lab/one',
          privacy_class: 'anonymous',
          pricing: { input: 2, output: 8, cached_input: 0.5 },
          capabilities: { tools: true, vision: true, structured_output: true },
          supported_parameters: ['max_tokens', 'structured_outputs', 'temperature', 'tool_choice', 'tools'],
        },
      ],
    });
  });

  it.each([
    [
      { prompt: '0.00000015', completion: '0.0000006' },
      { input: 0.15, output: 0.6 },
    ],
    [
      { prompt: '1.5e-7', completion: '6e-07' },
      { input: 0.15, output: 0.6 },
    ],
    [{ prompt: '0.000001', completion: '0.000002', input_cache_write: '0.00000125' }, { cache_write: 1.25 }],
    [
      { ...pricing, input_cache_read: '0', internal_reasoning: '0' },
      { input: 2, output: 8 },
    ],
    [{ ...pricing, internal_reasoning: '0.00001' }, { reasoning: 10 }],
    [
      { input: 0.88, output: 0.9 },
      { input: 0.88, output: 0.9 },
    ],
    [{ input: 1, output: 2, cached_input: 0.1 }, { cached_input: 0.1 }],
  ])('with the pricing %j costs %j per million', (listed, expected) => {
    const found = routeFrom({ pricing: listed })?.pricing;
    expect(found).toMatchObject(expected);
    if (listed === undefined || 'internal_reasoning' in listed) return;
    expect(found).not.toHaveProperty('reasoning');
  });

  it('has the prices of long prompts as tiers', () => {
    const overrides = [
      { min_prompt_tokens: 400_000, prompt: '0.000006' },
      { min_prompt_tokens: 200_000, prompt: '0.000004', completion: '0.000012', input_cache_read: '0.000001' },
    ];
    expect(routeFrom({ pricing: { ...pricing, overrides } })?.pricing.tiers).toEqual([
      { above_prompt_tokens: 200_000, input: 4, output: 12, cached_input: 1 },
      { above_prompt_tokens: 400_000, input: 6 },
    ]);
  });

  it('has the tiers and the price of reasoning that our own list states', () => {
    const tier = { above_prompt_tokens: 1000, input: 2, cached_input: 0.5 };
    const own = { input: 1, output: 2, reasoning: 3, tiers: [tier] };
    expect(routeFrom({ pricing: own })?.pricing).toEqual(own);
    expect(reasonFor({ pricing: { ...own, tiers: [{ from: 1000, input: 2 }] } })).toContain('cannot be read');
  });

  it('never reads a cache price of 0 as free, because lists write it for providers without such a price', () => {
    const overrides = [
      { min_prompt_tokens: 200_000, prompt: '0.000004', input_cache_read: '0', input_cache_write: '0' },
    ];
    expect(routeFrom({ pricing: { ...pricing, overrides } })?.pricing.tiers).toEqual([
      { above_prompt_tokens: 200_000, input: 4 },
    ]);
  });

  it('is taken at its dearest time of the day or not at all', () => {
    const night = { utc_start: 1630, utc_end: 30, prompt: '0.000001', completion: '0.000004' };
    expect(routeFrom({ pricing: { ...pricing, overrides: [night] } })?.pricing).toMatchObject({ input: 2, output: 8 });
    const noon = { ...night, completion: '0.000009' };
    expect(reasonFor({ pricing: { ...pricing, overrides: [noon] } })).toContain('times of the day');
  });

  it.each([
    [{ prompt: '-1', completion: '-1' }, 'no fixed price'],
    [{ prompt: '0', completion: '0' }, 'it is free'],
    [{ prompt: '0.000001', completion: '0' }, 'it is free'],
    [{ ...pricing, overrides: [{ min_prompt_tokens: 5, prompt: '0' }] }, 'it is free'],
    [{ ...pricing, overrides: [{ min_prompt_tokens: 'many', prompt: '1' }] }, 'cannot be read'],
    [{ ...pricing, overrides: {} }, 'cannot be read'],
    ['cheap', 'cannot be read'],
    [{ prompt: 'cheap', completion: '1' }, 'its price "cheap" is no number'],
    [{ prompt: 0.1, completion: 0.5 }, 'another unit'],
    [{ prompt: '0.0000000000015', completion: '0.000001' }, 'finer than a millionth'],
    [{ ...pricing, request: '0.01' }, 'for each request'],
    [{ ...pricing, request: 'a cent' }, 'for each request'],
    [{ ...pricing, internal_reasoning: 'dear' }, 'its price "dear" is no number'],
    [{ ...pricing, input_cache_write: 'dear' }, 'its price "dear" is no number'],
    [{ ...pricing, overrides: [{ region: 'eu', prompt: '0.000009' }] }, 'on some condition'],
    [undefined, 'no price'],
    [null, 'no price'],
    [{}, 'no price'],
    [{ prompt: '0.000001' }, 'no price'],
  ])('with the pricing %j is left out: %s', (listed, reason) => {
    expect(reasonFor({ pricing: listed })).toContain(reason);
  });

  it.each([
    ['lab/one:free', 'the variant `:free`'],
    ['~lab/latest', 'an alias'],
    ['a/b/c', 'not of the form creator/model'],
    ['lab/o ne', 'not of the form creator/model'],
    ['/auto', 'not of the form creator/model'],
  ])('with the id %s is left out: %s', (id, reason) => {
    expect(reasonFor({ id })).toContain(reason);
  });

  it.each([
    ['Lab/One-Turbo', 'lab/one-turbo'],
    ['one', 'acme/one'],
    ['models/one', 'acme/one'],
    ['accounts/lab/models/one', 'lab/one'],
  ])('with the id %s is %s, and is asked for upstream by the id that the list has', (id, canonical) => {
    const model = modelFrom({ id });
    expect(model?.id).toBe(canonical);
    expect(model?.routes[0]?.upstream_model).toBe(id);
  });

  it('has a name that a catalog accepts, even if it is the id', () => {
    const name = modelFrom({ name: '', id: `accounts/lab/models/${'x'.repeat(190)}` })?.name;
    expect(name).toMatch(/^accounts\/lab\/models\/x{180}$/);
  });

  it.each([
    [['text', 'image'], 'it makes image'],
    [['audio'], 'it makes audio'],
    [['rerank'], 'it makes rerank'],
  ])('that makes %j is left out', (output_modalities, reason) => {
    expect(reasonFor({ architecture: { ...architecture, output_modalities } })).toContain(reason);
  });

  it('does not offer vision if images cost extra', () => {
    expect(routeFrom({ pricing: { ...pricing, image: '0.001' } })?.capabilities).not.toHaveProperty('vision');
    expect(routeFrom({ pricing: { ...pricing, image: '0' } })?.capabilities).toHaveProperty('vision');
    expect(routeFrom({ pricing: { ...pricing, image_token: '0.00001' } })?.capabilities).not.toHaveProperty('vision');
    expect(routeFrom({ pricing: { ...pricing, image: 'a cent' } })?.capabilities).not.toHaveProperty('vision');
  });

  it.each([
    [
      { supported_efforts: ['high', 'low', 'none'], mandatory: false },
      { efforts: ['none', 'low', 'high'], can_disable: true },
    ],
    [
      { supported_efforts: ['high', 'none'], mandatory: true },
      { efforts: ['high'], can_disable: false },
    ],
    [{ supported_efforts: null, mandatory: false }, { efforts: ['minimal', 'low', 'medium', 'high', 'xhigh'] }],
    [{ mandatory: true }, { efforts: [], can_disable: false }],
  ])('with the reasoning %j offers %j', (reasoning, expected) => {
    const found = routeFrom({ reasoning, supported_parameters: ['reasoning'] })?.capabilities?.reasoning;
    expect(found).toMatchObject(expected);
  });

  it('offers the usual efforts where the list names only the parameter', () => {
    expect(routeFrom({ supported_parameters: ['reasoning', 'reasoning_effort'] })?.capabilities?.reasoning).toEqual({
      efforts: ['low', 'medium', 'high'],
      can_disable: false,
    });
    expect(routeFrom({ supported_parameters: ['reasoning'] })?.capabilities?.reasoning?.efforts).toEqual([]);
  });

  it('keeps the parameters that mean something, in one order', () => {
    expect(routeFrom({ supported_parameters: ['top_p', 'hyperdrive', 'seed', 'top_p'] })?.supported_parameters).toEqual(
      ['seed', 'top_p'],
    );
  });
});

describe('importModels: other lists', () => {
  const plain = { id: 'one', object: 'model', created: 1, owned_by: 'acme' };

  it.each([
    [{ context_window: 131_072, max_completion_tokens: 32_768 }, 131_072, 32_768],
    [{ max_context_length: 32_000 }, 32_000, undefined],
    [{ max_model_len: 4096 }, 4096, undefined],
    [{ context_length: 4096, max_output_length: 9000 }, 4096, 4096],
  ])('reads the limits %j', (limits, context_length, max_output_tokens) => {
    const model = imported([{ ...plain, ...limits, pricing }]).file.models[0];
    expect(model?.context_length).toBe(context_length);
    expect(model?.max_output_tokens).toBe(max_output_tokens);
  });

  it('reads what providers write for OpenRouter', () => {
    const listed = {
      ...{ input_modalities: ['text', 'image'], output_modalities: ['text'], context_length: 10, pricing },
      supported_sampling_parameters: ['temperature', 'stop'],
      supported_features: ['tools', 'json_mode'],
    };
    expect(imported([{ ...plain, ...listed }]).file.models[0]?.routes[0]).toMatchObject({
      capabilities: { tools: true, vision: true },
      supported_parameters: ['response_format', 'stop', 'temperature', 'tool_choice', 'tools'],
    });
  });

  it('reads capabilities that are switches, and then knows no list of parameters', () => {
    const capabilities = { completion_chat: true, function_calling: true, vision: true };
    const route = imported([{ ...plain, capabilities, context_length: 10, pricing }]).file.models[0]?.routes[0];
    expect(route?.capabilities).toEqual({ tools: true, vision: true });
    expect(route).not.toHaveProperty('supported_parameters');
  });

  it.each([
    ['chat', 'one', 'text'],
    ['embedding', 'one', 'embedding'],
    [undefined, 'text-embedding-3-small', 'embedding'],
    [undefined, 'gpt-4.1', 'text'],
  ])('takes the type %s and the id %s for %s', (type, id, kind) => {
    const model = imported([{ ...plain, id, type, context_length: 10, pricing }]).file.models[0];
    expect(model?.model_type).toBe(kind);
    if (kind === 'embedding') expect(model?.routes[0]?.pricing).toEqual({ input: 2 });
  });

  it.each([
    ['image', 'one'],
    ['rerank', 'one'],
    [undefined, 'whisper-1'],
    [undefined, 'gpt-4o-mini-tts'],
    [undefined, 'omni-moderation-latest'],
  ])('leaves out the type %s with the id %s', (type, id) => {
    expect(imported([{ ...plain, id, type, context_length: 10, pricing }]).file.models).toEqual([]);
  });

  it('omits the second of two models with the same id, and counts entries without an id', () => {
    const listed = { context_length: 10, pricing };
    const { file, leftOut } = imported([{ id: 'Lab/A', ...listed }, { id: 'lab/a', ...listed }, { name: 'x' }, 5]);
    expect(file.models.map(({ routes }) => routes[0]?.upstream_model)).toEqual(['Lab/A']);
    expect(leftOut).toEqual([
      { id: 'lab/a', reason: 'another model of the list is lab/a too' },
      { id: '2 entries', reason: 'they have no `id`' },
    ]);
  });

  it('removes control characters of a list', () => {
    expect(modelFrom({ name: 'One\u001b[31m\r\nTwo\u202e' })?.name).toBe('One [31m Two');
    expect(from({ id: 'a\u001b]0;x' }).leftOut[0]?.id).toBe('a ]0;x');
  });

  it.each([[{}], [{ data: 5 }], ['models'], [null], [{ object: 'list', models: [] }]])(
    'is not a model list: %j',
    (list) => {
      expect(importModels(list, options)).toBeUndefined();
    },
  );
});

describe('import and check', () => {
  const mostly = <Value>(usual: fc.Arbitrary<Value>, ...odd: fc.Arbitrary<unknown>[]) =>
    fc.oneof({ weight: 12, arbitrary: usual }, ...odd.map((arbitrary) => ({ weight: 1, arbitrary })));
  const anyText = fc.oneof(fc.string(), fc.string({ unit: 'binary' }));
  const anyId = mostly(
    fc.stringMatching(/^[A-Za-z.-]{1,3}\/[a-z0-9_.-]{1,4}$/),
    anyText,
    fc.constantFrom('two', 'x/y:z'),
  );
  const anyUsd = mostly(
    fc.integer({ min: 1, max: 99_999_999 }).map((pico) => `${pico}e-12`),
    fc.constantFrom('0', '-1', 'x', '0.0000000000015', null, undefined),
    fc.double(),
  );
  const anyCount = mostly(fc.integer({ min: 1, max: 2_000_000 }), fc.integer(), fc.constantFrom(null, 'x', 1.5));
  const anyNames = fc.oneof(
    fc.subarray(['tools', 'structured_outputs', 'reasoning', 'reasoning_effort', 'seed', 'hyperdrive', 'stop']),
    fc.constantFrom(null, undefined, 'tools'),
  );
  const anyEntry = fc.record(
    {
      id: anyId,
      name: anyText,
      type: fc.constantFrom('chat', 'embedding', 'image', undefined),
      context_length: anyCount,
      max_completion_tokens: anyCount,
      pricing: fc.record(
        {
          prompt: anyUsd,
          completion: anyUsd,
          input_cache_read: anyUsd,
          internal_reasoning: anyUsd,
          image: anyUsd,
          overrides: fc.array(
            fc.record({ min_prompt_tokens: fc.integer({ min: 1 }), prompt: anyUsd, completion: anyUsd }),
          ),
        },
        { requiredKeys: ['prompt', 'completion'] },
      ),
      architecture: fc.record({
        input_modalities: fc.subarray(['text', 'image']),
        output_modalities: fc.constantFrom(['text'], ['text'], ['embeddings'], ['image']),
      }),
      supported_parameters: anyNames,
      reasoning: fc.constantFrom(undefined, { supported_efforts: null }, { supported_efforts: ['none', 'low'] }),
    },
    { requiredKeys: ['id', 'context_length', 'pricing', 'architecture'] },
  );

  it('whatever a list says, the file that is written passes the check, the same each time, and nothing is free', () => {
    let models = 0;
    fc.assert(
      fc.property(fc.array(anyEntry, { minLength: 1, maxLength: 6 }), anyText, (entries, comment) => {
        const { file, leftOut } = imported({ data: entries });
        const text = writeCatalog(file, comment.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ''));
        const checked = checkCatalog(text, registry, '2026-11-01');
        expect(checked.problems).toEqual([]);
        expect(checked.warnings.filter(({ message }) => message.includes('nothing is charged'))).toEqual([]);
        expect(checked.free).toEqual([]);
        expect(file.models.length + leftOut.length).toBeGreaterThanOrEqual(1);
        models += file.models.length;
        expect(writeCatalog(imported({ data: entries }).file, '')).toBe(writeCatalog(file, ''));
      }),
      { numRuns: 300 },
    );
    expect(models).toBeGreaterThan(50);
  });

  it('carries every price over digit by digit', () => {
    const anyPico = fc.integer({ min: 1, max: 999_999_999 });
    fc.assert(
      fc.property(anyPico, anyPico, fc.constantFrom('plain', 'exponent'), (input, output, style) => {
        const written = (pico: number): string =>
          style === 'exponent' ? `${pico}e-12` : `0.${String(pico).padStart(12, '0')}`;
        const listed = { prompt: written(input), completion: written(output) };
        const text = writeCatalog(from({ pricing: listed }).file, '');
        const read = checkCatalog(text, registry, '2026-11-01').file?.models[0]?.routes[0]?.pricing;
        expect([read?.input, read?.output].map((usd) => Math.round((usd ?? 0) * 1e6))).toEqual([input, output]);
        expect(String(read?.input)).toBe(String(input / 1e6));
      }),
    );
  });
});
