import { describe, expect, it } from 'vitest';
import { open, type Prepared, prepare, refusalOf } from './ask.ts';
import { beginSuite, type SealedStage } from './world.ts';

type Spoil = (prepared: Prepared) => void;
type Change = (body: Record<string, unknown>) => void;

const asJson = ({ body }: Prepared): Record<string, unknown> => JSON.parse(body.toString()) as Record<string, unknown>;

/** Changes the clear part of a body that was sealed field by field. */
const body =
  (change: Change): Spoil =>
  (prepared) => {
    const parsed = asJson(prepared);
    change(parsed);
    prepared.body = Buffer.from(JSON.stringify(parsed));
  };

const header =
  (name: string, value: string | undefined): Spoil =>
  ({ headers }) => {
    if (value === undefined) delete headers[name];
    else headers[name] = value;
  };

/** Changes the content of the header `x-router-e2ee`. */
const asked =
  (changes: object): Spoil =>
  ({ headers }) => {
    headers['x-router-e2ee'] = JSON.stringify({ ...JSON.parse(headers['x-router-e2ee'] ?? ''), ...changes });
  };

const text =
  (change: (text: string) => string): Spoil =>
  (prepared) => {
    prepared.body = Buffer.from(change(prepared.body.toString()));
  };

const plain = [{ role: 'user', content: 'In clear.' }];
const otherUuid = '11111111-2222-3333-4444-555555555555';

/** Spoiled requests of the family of `near`, the expected result, and the words that the error must name. */
const spoiled: [what: string, spoil: Spoil, status: number, type: string, names: string][] = [
  ['content in clear', body((b) => Object.assign(b, { messages: plain })), 400, 'invalid_request', 'encrypted'],
  [
    'an empty content',
    body((b) => Object.assign(b, { messages: [{ role: 'user', content: '' }] })),
    400,
    'invalid_request',
    'encrypted',
  ],
  ['tools', body((b) => Object.assign(b, { tools: [] })), 400, 'invalid_request', 'tools'],
  ['a user', body((b) => Object.assign(b, { user: 'Ann' })), 400, 'invalid_request', 'user'],
  ['no output ceiling', body((b) => Reflect.deleteProperty(b, 'max_tokens')), 400, 'invalid_request', 'max_tokens'],
  [
    'two output ceilings',
    body((b) => Object.assign(b, { max_completion_tokens: 7 })),
    400,
    'invalid_request',
    'differ',
  ],
  [
    'a ceiling above the route’s',
    body((b) => Object.assign(b, { max_tokens: 2001 })),
    400,
    'context_too_large',
    'allow at most',
  ],
  ['another stream than announced', body((b) => Object.assign(b, { stream: true })), 400, 'invalid_request', 'stream'],
  ['another model', body((b) => Object.assign(b, { model: 'dear/model' })), 409, 'ticket_model_mismatch', 'model'],
  [
    'another effort',
    body((b) => Object.assign(b, { reasoning_effort: 'high' })),
    409,
    'ticket_reasoning_mismatch',
    'reasoning_effort',
  ],
  ['a name that is said twice', text((t) => t.replace('{', '{"max_tokens":2000,')), 400, 'invalid_request', 'twice'],
  [
    'messages that are said twice',
    text((t) => t.replace('{', `{"messages":${JSON.stringify(plain)},`)),
    400,
    'invalid_request',
    'twice',
  ],
  ['no JSON', text(() => 'hello'), 400, 'invalid_request', 'JSON'],
  ['no body', text(() => ''), 400, 'invalid_request', 'empty'],
  [
    'a header of the scheme that is missing',
    header('x-model-pub-key', undefined),
    400,
    'invalid_request',
    'x-model-pub-key',
  ],
  [
    'a header of the scheme with words in it',
    header('x-client-pub-key', 'it is Ann'),
    400,
    'invalid_request',
    'x-client-pub-key',
  ],
  ['an announcement that is no JSON', header('x-router-e2ee', 'near'), 400, 'invalid_request', 'x-router-e2ee'],
  ['an announcement that is a list', header('x-router-e2ee', '[]'), 400, 'invalid_request', 'x-router-e2ee'],
  ['an unknown family', asked({ family: 'acme' }), 400, 'invalid_request', 'family'],
  ['content in the announcement', asked({ prompt: 'hello' }), 400, 'invalid_request', 'prompt'],
  ['no pin', asked({ provider: { minimum_privacy: 'e2ee' } }), 400, 'invalid_request', 'only'],
  ['two efforts', asked({ reasoning_effort: 'low', reasoning: { effort: 'high' } }), 400, 'invalid_request', 'efforts'],
  ['thinking switched off', asked({ reasoning: { enabled: false } }), 400, 'invalid_request', 'none'],
  ['another model than the ticket’s', asked({ model: 'sealed/venice' }), 409, 'ticket_model_mismatch', 'model'],
  [
    'another effort than the ticket’s',
    (p) => {
      asked({ reasoning_effort: 'high' })(p);
      body((b) => Object.assign(b, { reasoning_effort: 'high' }))(p);
    },
    409,
    'ticket_reasoning_mismatch',
    'reasoning',
  ],
  [
    'another policy than the ticket’s',
    asked({ provider: 'near-ed25519' }),
    409,
    'ticket_provider_policy_mismatch',
    'policy',
  ],
  [
    'another content type',
    header('content-type', 'application/octet-stream'),
    415,
    'unsupported_media_type',
    'application/json',
  ],
];

/** The broker reports an error in a sealed request before it contacts the provider, and leaves the ticket as it was. */
export function refusalsSuite(stage: SealedStage): void {
  describe('a sealed request that is refused', () => {
    const account = beginSuite(stage);

    it.each(spoiled)('for %s says so, and its ticket stays valid', async (_, spoil, status, type, names) => {
      const { service, standIns } = stage;
      const provider = standIns.provider('near-ed25519');
      const good = await prepare(service, account, provider);
      const bad: Prepared = { ...good, headers: { ...good.headers } };
      spoil(bad);
      const refusal = await refusalOf(service, bad);
      expect(refusal).toMatchObject({ status, type });
      expect(refusal.message).toContain(names);
      expect(refusal.message).not.toMatch(/Ann|hello|In clear/);
      expect(provider.seen).toEqual([]);
      expect((await open(service, good).answer).status).toBe(200);
    });

    it('without a ticket, or with a key, is told first that it needs a ticket', async () => {
      const { service, standIns } = stage;
      const good = await prepare(service, account, standIns.provider('near-ed25519'));
      const { 'x-router-ticket': _, ...headers } = good.headers;
      const nothing = Buffer.from('{}');
      expect(await refusalOf(service, { headers, body: nothing })).toMatchObject({
        status: 401,
        type: 'ticket_required',
      });
      const bearer = { ...headers, authorization: `Bearer ${account.inferenceKey}` };
      const byKey = await refusalOf(service, { headers: bearer, body: nothing });
      expect(byKey).toMatchObject({ status: 401, type: 'ticket_required' });
      expect(byKey.message).toContain('End-to-end-encrypted chat is served by ticket only');
    });

    it('with a used ticket is told so, whatever else is wrong', async () => {
      const { service, standIns } = stage;
      const good = await prepare(service, account, standIns.provider('near-ed25519'));
      expect((await open(service, good).answer).status).toBe(200);
      for (const spoil of [body(() => {}), text(() => 'hello')]) {
        spoil(good);
        expect(await refusalOf(service, good)).toMatchObject({ status: 401, type: 'invalid_ticket' });
      }
    });

    it('for a provider of another family names both', async () => {
      const { service, standIns } = stage;
      const near = await prepare(service, account, standIns.provider('near-secp256k1'));
      const phala = standIns.provider('phala-aci-x25519');
      const question = { model: phala.model, provider: { only: [phala.kind], minimum_privacy: 'e2ee' } };
      const { ticket } = await service.mintTicket(account.inferenceKey, question);
      const e2ee = JSON.stringify({ ...question, family: 'near', stream: false });
      const headers = { ...near.headers, 'x-router-ticket': ticket, 'x-router-e2ee': e2ee };
      const refusal = await refusalOf(service, { headers, body: near.body });
      expect(refusal).toMatchObject({ status: 400, type: 'invalid_request' });
      expect(refusal.message).toMatch(/`near`.*`phala`/);
    });

    it('for another chute than its route’s, or another stream than announced, is not passed on', async () => {
      const { service, standIns } = stage;
      const chutes = standIns.provider('chutes');
      const good = await prepare(service, account, chutes);
      const headers = { ...good.headers, 'x-chute-id': otherUuid };
      const other = await refusalOf(service, { headers, body: good.body });
      expect(other).toMatchObject({ status: 409, type: 'ticket_model_mismatch' });
      expect(other.message).toContain('x-chute-id');
      const streams = await refusalOf(service, {
        headers: { ...good.headers, 'x-e2e-stream': 'true' },
        body: good.body,
      });
      expect(streams).toMatchObject({ status: 400, type: 'invalid_request' });
      expect(chutes.seen).toEqual([]);
    });

    it('for frames that do not fill the body is not passed on', async () => {
      const { service, standIns } = stage;
      const tinfoil = standIns.provider('tinfoil');
      const good = await prepare(service, account, tinfoil);
      const cut = await refusalOf(service, { headers: good.headers, body: good.body.subarray(0, -1) });
      expect(cut).toMatchObject({ status: 400, type: 'invalid_request' });
      const plainJson = Buffer.from(JSON.stringify({ model: 'm', messages: plain }));
      expect(await refusalOf(service, { headers: good.headers, body: plainJson })).toMatchObject({ status: 400 });
      expect(tinfoil.seen).toEqual([]);
    });

    it('with a plaintext body and a ticket for encrypted routes alone is 403', async () => {
      const { service, standIns } = stage;
      const provider = standIns.provider('near-ed25519');
      const { headers } = await prepare(service, account, provider);
      const pinned = { only: [provider.kind], allow_fallbacks: false, minimum_privacy: 'e2ee' };
      const chat = { model: provider.model, messages: plain, provider: pinned };
      const refusal = await refusalOf(service, {
        headers: { 'content-type': 'application/json', 'x-router-ticket': headers['x-router-ticket'] ?? '' },
        body: Buffer.from(JSON.stringify(chat)),
      });
      expect(refusal).toMatchObject({ status: 403, type: 'no_provider_route_meets_privacy' });
      expect(provider.seen).toEqual([]);
    });

    describe('as its ticket is bought', () => {
      const kind = 'near-ed25519';
      const mint = (body: object): Promise<Response> =>
        fetch(`${stage.service.controlUrl}/inference/tickets`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${account.inferenceKey}` },
          body: JSON.stringify({ model: stage.standIns.provider(kind).model, ...body }),
        });

      it('needs a pin: a pin alone, short or long, is enough; the name of a provider is not', async () => {
        for (const provider of [kind, { only: [kind], allow_fallbacks: false }]) {
          const answer = await mint({ provider });
          expect([answer.status, await answer.json()]).toMatchObject([200, { privacy_class: 'e2ee' }]);
        }
        for (const provider of [{ only: [kind] }, { order: [kind], allow_fallbacks: false }]) {
          const answer = await mint({ provider });
          const refusal = { error: { type: 'no_provider_route_meets_privacy' } };
          expect([answer.status, await answer.json()]).toMatchObject([403, refusal]);
        }
      });

      const minimum_privacy = 'e2ee';
      it.each<[string, object, number, string, string]>([
        [
          'a ceiling',
          { only: [kind], max_price: { input: 1, output: 1 } },
          400,
          'no_provider_route_meets_price',
          'ceiling',
        ],
        ['a provider without the model', { only: ['tinfoil'] }, 400, 'no_provider_route', 'provider.only'],
        ['an ignored provider', { ignore: [kind] }, 400, 'no_provider_route', 'ignored'],
        ['no provider to encrypt for', {}, 400, 'invalid_request', 'provider.only'],
      ])('names %s as the cause', async (_, policy, status, type, says) => {
        const answer = await mint({ provider: { minimum_privacy, ...policy } });
        const { error } = (await answer.json()) as {
          readonly error: { readonly type: string; readonly message: string };
        };
        expect([answer.status, error.type]).toEqual([status, type]);
        expect(error.message).toContain(says);
      });

      it('names an effort that the model does not have as the cause', async () => {
        const answer = await mint({ provider: { minimum_privacy, only: [kind] }, reasoning_effort: 'ultra' });
        expect([answer.status, await answer.json()]).toMatchObject([400, { error: { type: 'no_provider_route' } }]);
      });
    });

    it('bodies of bytes are for sealed requests only', async () => {
      const { service } = stage;
      const { headers: sealed } = await prepare(service, account, stage.standIns.provider('near-ed25519'));
      const ticket = { 'x-router-ticket': sealed['x-router-ticket'] ?? '' };
      const headers = { 'content-type': 'application/octet-stream', ...ticket };
      const refusal = await refusalOf(service, { headers, body: Buffer.from('x') });
      expect(refusal).toMatchObject({ status: 415, type: 'unsupported_media_type' });
    });
  });
}
