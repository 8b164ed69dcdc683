import { operations } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import {
  isSwitchedOn,
  parseRegistry,
  publicRegistry,
  registryPublicSchema,
  strongestAllowedClass,
} from './registry.ts';

const lines = (...fields: string[]): string => `providers:\n  - id: acme\n${fields.map((f) => `    ${f}\n`).join('')}`;
const required = ['name: Acme', 'adapter: openai', 'base_url: https://api.acme.example/v1', 'privacy_class: private'];
const parse = (...extra: string[]) => parseRegistry(lines(...required, ...extra), 'digest');
const problemsOf = (text: string) => {
  const parsed = parseRegistry(text, 'digest');
  return parsed.ok ? [] : parsed.problems;
};
const withBaseUrl = (url: string) => lines(...required.map((f) => (f.startsWith('base_url') ? `base_url: ${url}` : f)));
const onlyHttps = 'must be https: plain http is for loopback, or with `insecure_http: true` for a private network';
const withClass = (name: string, ...extra: string[]) =>
  lines(...required.slice(0, 3), `privacy_class: ${name}`, ...extra);

function parsedProvider(text: string) {
  const parsed = parseRegistry(text, 'digest');
  const provider = parsed.ok ? parsed.value.providers[0] : undefined;
  if (provider === undefined) throw new Error('not parsed');
  return provider;
}

describe('parseRegistry', () => {
  it('fills in what a provider leaves out', () => {
    expect(parsedProvider(lines(...required))).toEqual({
      id: 'acme',
      name: 'Acme',
      adapter: 'openai',
      base_url: 'https://api.acme.example/v1',
      privacy_class: 'private',
      insecure_http: false,
      listed: true,
      timeouts: { connect_ms: 5000, first_byte_ms: 30_000, idle_ms: 60_000, total_ms: 600_000 },
      request: { max_tokens_field: 'max_tokens', extra_body: {}, reasoning_off: { reasoning_effort: 'none' } },
    });
  });

  it('knows what the API of Mistral refuses, and lets the file say otherwise', () => {
    const mistral = (...extra: string[]) =>
      parsedProvider(lines(...required, ...extra).replace('id: acme', 'id: mistral/eu'));
    const known = {
      tool_call_ids: 'nine_alphanumerics',
      omitted_fields: ['stream_options', 'user', 'name'],
      seed_field: 'random_seed',
      system_messages: 'first',
    };
    expect(mistral().request).toMatchObject(known);
    const said = mistral('request: { omitted_fields: [], seed_field: seed }').request;
    expect(said).toMatchObject({ ...known, omitted_fields: [], seed_field: 'seed' });
  });

  it('keeps the digest of the file, and the order of the providers, which breaks ties', () => {
    const parsed = parseRegistry(
      `${lines(...required)}  - {id: zeta, name: Z, adapter: openai, base_url: "https://z.example", privacy_class: private}\n  - {id: bolt/eu, name: B, adapter: openai, base_url: "https://b.example", privacy_class: private}\n`,
      'abc',
    );
    expect(parsed.ok && parsed.value.digest).toBe('abc');
    expect(parsed.ok && parsed.value.providers.map(({ id }) => id)).toEqual(['acme', 'zeta', 'bolt/eu']);
  });

  it('refuses a provider that is repeated, with its line', () => {
    const text = `${lines(...required)}  - id: acme\n    name: Again\n    adapter: openai\n    base_url: https://x.example\n    privacy_class: private\n`;
    expect(problemsOf(text)).toEqual([{ line: 7, message: 'provider acme is repeated' }]);
  });

  it('refuses malformed YAML and a registry without providers', () => {
    expect(problemsOf('providers: [').length).toBeGreaterThan(0);
    expect(problemsOf('providers: []')).toEqual([{ line: 1, message: expect.stringContaining('providers') }]);
  });

  it.each(['Acme', 'acme/eu/1', 'acme_1', ''])('refuses the provider id `%s`', (id) => {
    expect(problemsOf(lines(...required).replace('id: acme', `id: "${id}"`))).toMatchObject([{ line: 2 }]);
  });

  it('refuses a provider of the id `other`', () => {
    expect(problemsOf(lines(...required).replace('id: acme', 'id: other'))).toEqual([
      { line: 2, message: '`providers.0.id`: `other` stands for unlisted providers' },
    ]);
  });

  it.each(['https://api.acme.example/v1', 'http://localhost:9000', 'http://127.0.0.1:9000/v1', 'http://[::1]:9000'])(
    'takes the address %s',
    (url) => {
      expect(problemsOf(withBaseUrl(url))).toEqual([]);
    },
  );

  it.each([
    ['http://api.acme.example/v1', onlyHttps],
    ['http://127.0.0.1.acme.example', onlyHttps],
    ['http://localhost.acme.example', onlyHttps],
    ['ftp://api.acme.example', 'must be an https URL'],
    ['api.acme.example', 'must be an https URL'],
    ['https://user@api.acme.example', 'must be an origin and a path: no credentials, query or fragment'],
    ['https://:secret@api.acme.example', 'must be an origin and a path: no credentials, query or fragment'],
    ['https://api.acme.example/?key=1', 'must be an origin and a path: no credentials, query or fragment'],
    ['https://api.acme.example/#top', 'must be an origin and a path: no credentials, query or fragment'],
  ])('refuses the address %s', (url, message) => {
    const shown = /[@?]/.test(url) || message === onlyHttps ? '' : ` is \`${url}\`: it`;
    expect(problemsOf(withBaseUrl(url))).toEqual([{ line: 5, message: `\`providers.0.base_url\`${shown} ${message}` }]);
  });

  const plain = (url: string, name = 'private', ...extra: string[]) =>
    problemsOf(
      lines(...required.slice(0, 2), `base_url: ${url}`, `privacy_class: ${name}`, 'insecure_http: true', ...extra),
    );

  it.each(['http://ollama:11434/v1', 'http://10.0.0.5:8000/v1', 'http://[fd12::5]:8000', 'http://127.0.0.1:9000'])(
    'takes the address %s with insecure_http',
    (url) => {
      expect(plain(url)).toEqual([]);
      expect(plain(url, 'anonymous')).toEqual([]);
    },
  );

  it('takes insecure_http only without TLS, without attestation, and at most for private', () => {
    const wrong = (message: RegExp) => [{ line: expect.any(Number), message: expect.stringMatching(message) }];
    expect(plain('https://ollama:11434/v1')).toEqual(
      wrong(/insecure_http` is for a `base_url` that begins with http:/),
    );
    expect(plain('ftp://ollama')).toEqual(wrong(/base_url` is `ftp:.*must be an https URL/));
    const enclave = 'attestation: {family: near}';
    expect(plain('http://ollama', 'private', enclave)).toEqual(wrong(/insecure_http` is not possible beside/));
    expect(plain('http://ollama', 'tee', enclave)).toHaveLength(2);
    const models = 'models: [{match: "*", privacy_class: e2ee}]';
    expect(plain('http://ollama', 'private', enclave, models).at(-1)?.message).toMatch(
      /privacy_class` is at most private/,
    );
  });

  it('asks whether the broker may reach a host without TLS, and reports the line', () => {
    const ask = (url: string, ...extra: string[]) => {
      const asked: string[] = [];
      const text = lines(...required.slice(0, 2), `base_url: ${url}`, 'privacy_class: private', ...extra);
      const parsed = parseRegistry(text, 'digest', {
        problemOfPlainHttp: (hostname) => {
          asked.push(hostname);
          return 'no';
        },
      });
      return { asked, problems: parsed.ok ? [] : parsed.problems };
    };
    expect(ask('http://ollama:11434/v1', 'insecure_http: true')).toEqual({
      asked: ['ollama'],
      problems: [{ line: 7, message: 'provider acme: no' }],
    });
    expect(ask('https://api.acme.example')).toEqual({ asked: [], problems: [] });
  });

  it.each(['tee', 'e2ee'])('requires attestation of a provider that is %s', (name) => {
    const message = '`providers.0.attestation`: `attestation` is required where the privacy class is tee or e2ee';
    expect(problemsOf(withClass(name))).toEqual([{ line: 2, message }]);
    expect(problemsOf(withClass(name, 'attestation: {family: near}'))).toEqual([]);
  });

  it('requires attestation where only some models claim tee', () => {
    const models = 'models: [{match: "llama-*", privacy_class: tee}]';
    expect(problemsOf(withClass('private', models))).toHaveLength(1);
    expect(problemsOf(withClass('private', models, 'attestation: {family: phala, measurements: [aa]}'))).toEqual([]);
  });

  it('refuses to unlist a provider with attestation, whose evidence names it', () => {
    const enclave = ['attestation: {family: near}', 'listed: false'];
    const message =
      "`providers.0.listed`: `listed: false` is not possible beside `attestation`: an enclave's evidence names its provider";
    expect(problemsOf(withClass('tee', ...enclave))).toEqual([{ line: 8, message }]);
    expect(problemsOf(withClass('private', ...enclave))).toEqual([{ line: 8, message }]);
    expect(problemsOf(withClass('private', 'listed: false'))).toEqual([]);
  });

  it.each([
    ['an adapter nobody wrote', lines(...required.filter((f) => !f.startsWith('adapter')), 'adapter: smtp')],
    ['an unknown key', lines(...required, 'region: eu')],
    ['an unknown timeout', lines(...required, 'timeouts: {read_ms: 5}')],
    ['a timeout of more than an hour', lines(...required, 'timeouts: {total_ms: 3600001}')],
    ['a timeout of 0', lines(...required, 'timeouts: {connect_ms: 0}')],
    ['a key written out in place of its variable', lines(...required, 'api_key_env: sk-live-123')],
    ['an unknown family of evidence', lines(...required, 'attestation: {family: trust-me}')],
  ])('refuses %s', (_, text) => {
    expect(problemsOf(text)).toHaveLength(1);
  });
});

describe('publicRegistry', () => {
  it('says which providers are reached without TLS, and nothing of the others', () => {
    const of = (...extra: string[]) => {
      const url = extra.length > 0 ? 'http://ollama:11434/v1' : 'https://ollama:11434/v1';
      const text = lines(...required.slice(0, 2), `base_url: ${url}`, 'privacy_class: private', ...extra);
      const parsed = parseRegistry(text, 'digest');
      if (!parsed.ok) throw new Error('not parsed');
      const [published] = registryPublicSchema.parse(publicRegistry(parsed.value, () => true)).providers;
      return published;
    };
    expect(of('insecure_http: true')).toMatchObject({ insecure_http: true });
    expect(of()).not.toHaveProperty('insecure_http');
  });

  it('publishes neither addresses nor names of secrets nor what is sent', () => {
    const parsed = parse(
      'api_key_env: ACME_API_KEY',
      'listed: false',
      'models: [{match: "llama-*", privacy_class: anonymous}]',
      'request: {extra_body: {store: false}}',
    );
    if (!parsed.ok) throw new Error('not parsed');
    const published = publicRegistry(parsed.value, (provider) => provider.api_key_env !== 'ACME_API_KEY');
    expect(published).toEqual({
      digest: 'digest',
      providers: [
        {
          id: 'acme',
          name: 'Acme',
          listed: false,
          privacy_class: 'private',
          models: [{ match: 'llama-*', privacy_class: 'anonymous' }],
          model_types: ['text', 'embedding', 'image', 'tts'],
          available: false,
        },
      ],
    });
    expect(registryPublicSchema.parse(published)).toEqual(published);
  });

  it('says which gated operations the broker serves, so that no ticket is sold that none would take', () => {
    const parsed = parse();
    if (!parsed.ok) throw new Error('not parsed');
    const published = publicRegistry(parsed.value, () => true, { image: true, speech: false });
    const { media } = registryPublicSchema.parse(published);
    if (media === undefined) throw new Error('nothing was published');
    const on = operations.filter((operation) => isSwitchedOn(media, operation));
    expect(on).toEqual(['chat', 'embeddings', 'image']);
  });

  it('omits `models` of a provider that does not define any', () => {
    const parsed = parse();
    if (!parsed.ok) throw new Error('not parsed');
    const [provider] = publicRegistry(parsed.value, () => true).providers;
    expect(provider).toMatchObject({ id: 'acme', available: true });
    expect(provider).not.toHaveProperty('models');
  });
});

describe('strongestAllowedClass', () => {
  const allowed = (models: [string, 'anonymous' | 'private' | 'tee'][] | undefined, model: string) =>
    strongestAllowedClass(
      {
        privacy_class: 'private',
        ...(models && { models: models.map(([match, privacy_class]) => ({ match, privacy_class })) }),
      },
      model,
    );

  it('is the provider’s class if no models are named', () => {
    expect(allowed(undefined, 'llama-3')).toBe('private');
  });

  it('narrows by model, and a model that matches nothing is anonymous', () => {
    expect(allowed([['llama-*', 'private']], 'llama-3')).toBe('private');
    expect(allowed([['llama-*', 'anonymous']], 'llama-3')).toBe('anonymous');
    expect(allowed([['llama-*', 'private']], 'qwen-3')).toBe('anonymous');
  });

  it('never widens beyond the provider’s class', () => {
    expect(allowed([['llama-*', 'tee']], 'llama-3')).toBe('private');
  });

  it('takes the first model that matches', () => {
    const models: [string, 'anonymous' | 'private'][] = [
      ['llama-3-free', 'anonymous'],
      ['llama-*', 'private'],
    ];
    expect(allowed(models, 'llama-3-free')).toBe('anonymous');
    expect(allowed(models, 'llama-3')).toBe('private');
  });

  it.each([
    ['llama-3', 'llama-3', true],
    ['llama-3', 'llama-31', false],
    ['llama-3', 'a-llama-3', false],
    ['*', 'anything', true],
    ['*', '', true],
    ['llama-*', 'llama-', true],
    ['llama-*', 'a-llama-3', false],
    ['*-free', 'llama-free', true],
    ['*-free', 'llama-free-2', false],
    ['a*b*c', 'a-b-c', true],
    ['a*b*c', 'abc', true],
    ['a*b*c', 'acb', false],
    ['a*b*c', 'axc', false],
    ['a*bc*c', 'abc', false],
    ['ab*ba', 'aba', false],
    ['a*ab*b', 'aabb', true],
    ['llama.3', 'llama-3', false],
    ['llama-[3]', 'llama-3', false],
  ])('the pattern `%s` on `%s`: %s', (match, model, matches) => {
    expect(allowed([[match, 'private']], model)).toBe(matches ? 'private' : 'anonymous');
  });
});
