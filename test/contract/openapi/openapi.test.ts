import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import type { AppAnswer } from '@sotto/wire';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../kit/free-port.ts';
import { startTestPostgres, type TestPostgres } from '../../kit/postgres.ts';
import { type Service, startService, type TestAccount, until } from '../../kit/service.ts';
import { npmStart, type StartedByNpm } from '../../operate/start/npm-start.ts';
import { Authenticator } from '../../people/accounts/authenticator.ts';
import { totpCode } from '../../people/accounts/totp.ts';
import { Browser } from '../../people/connect/browser.ts';
import { clientOf, exchange, start } from '../../people/connect/flow.ts';
import { startTeeWorld, type TeeWorld } from '../../privacy/attestation/tee-world.ts';
import { type Answer, type Call, DescribedOrigin } from './description.ts';

type Asked = Omit<Call, 'method' | 'path'>;
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const hex = (bytes: number): string => randomBytes(bytes).toString('hex');

/** Calls by the id of their operation, so that what is called is what is described. */
function callerOf(origin: () => DescribedOrigin) {
  return async (operationId: string, status: number, asked: Asked = {}): Promise<Answer> => {
    const operation = origin().operations.find((each) => each.operationId === operationId);
    if (operation === undefined) throw new Error(`there is no operation ${operationId}`);
    const { path, method } = operation;
    const answer = await origin().call({ method: method.toUpperCase() as Call['method'], path, ...asked });
    expect(answer.status, `${operationId}: ${answer.text.slice(0, 500)}`).toBe(status);
    return answer;
  };
}

describe('what `npm start` brings, by its own description', () => {
  let folder: string;
  let started: StartedByNpm | undefined;
  let control: DescribedOrigin;
  let broker: DescribedOrigin;
  let cookie: { cookie: string };
  const toControl = callerOf(() => control);
  const toBroker = callerOf(() => broker);
  const quickstart = () => {
    if (started === undefined) throw new Error('not started');
    return started.quickstart;
  };
  const inference = () => bearer(quickstart().inference_key);
  const management = () => bearer(quickstart().management_key);
  const cookieOf = ({ headers }: Answer) => ({
    cookie: headers
      .getSetCookie()
      .map((each) => each.split(';')[0] ?? '')
      .join('; '),
  });
  const signIn = async (who: { email: string; password: string }) =>
    cookieOf(await toControl('signIn', 200, { body: { email: who.email, password: who.password } }));
  /** The example of a request's body, as the description has it. */
  const exampleOf = (origin: DescribedOrigin, operationId: string): Record<string, unknown> => {
    const { requestBody } = origin.operations.find((each) => each.operationId === operationId) ?? {};
    const media = requestBody?.content['application/json'];
    if (media?.example === undefined) throw new Error(`${operationId} has no example`);
    origin.expectOf(media.schema, media.example, operationId);
    return media.example as Record<string, unknown>;
  };
  const ticket = async (request: object) => {
    const { json } = await toControl('createTicket', 200, { headers: inference(), body: request });
    return { 'x-router-ticket': (json as { ticket: string }).ticket };
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sotto-openapi-'));
    const ports = { CONTROL_PORT: String(await freePort()), CONFIDENTIAL_PORT: String(await freePort()) };
    started = await npmStart(folder, { ...ports, ATTESTATION: 'simulated', CONNECTED_APPS: 'on' });
    control = await DescribedOrigin.load(new URL(quickstart().control_url).origin);
    broker = await DescribedOrigin.load(new URL(quickstart().base_url).origin);
    cookie = await signIn(quickstart());
  });
  afterAll(async () => {
    await started?.end('SIGTERM');
    await rm(folder, { recursive: true, force: true });
  });

  it('is valid OpenAPI 3.1, on both origins', async () => {
    for (const { document } of [control, broker]) {
      const validator = new Validator();
      const result = await validator.validate(structuredClone(document) as unknown as Record<string, unknown>);
      expect(result.errors).toBeUndefined();
      expect(result.valid).toBe(true);
      expect(validator.version).toBe('3.1');
    }
  });

  it('answers every route that needs nothing, and says what is wrong', async () => {
    for (const [call, origin] of [
      [toControl, control],
      [toBroker, broker],
    ] as const) {
      for (const id of ['getHealth', 'getReadiness', 'getOpenApi']) await call(id, 200);
      expect(origin.succeeded.size).toBeGreaterThan(2);
    }
    for (const id of ['listCatalog', 'getCapabilities', 'getBillingCatalog', 'getDashboard', 'getReference']) {
      await toControl(id, 200);
    }
    await toControl('getUptime', 200, { query: '?model=demo/chat' });
    await toControl('getUptime', 400);
    await toControl('getUptime', 404, { query: '?model=no/such' });
    await toControl('listEligibleModels', 200, { body: exampleOf(control, 'listEligibleModels') });
    await toControl('listEligibleModels', 400, { body: { preferences: { nonsense: 1 } } });
    await toControl('listEligibleModels', 415, { body: {}, headers: { 'content-type': 'text/plain' } });
  });

  it('mints tickets, and refuses them', async () => {
    await toControl('createTicket', 200, { headers: inference(), body: exampleOf(control, 'createTicket') });
    for (const headers of [{}, bearer('sotto_inf_bad')]) {
      await toControl('createTicket', 401, { headers, body: { model: 'demo/chat' } });
    }
    await toControl('createTicket', 403, { headers: management(), body: { model: 'demo/chat' } });
    await toControl('createTicket', 404, { headers: inference(), body: { model: 'no/such' } });
    for (const provider of [{ only: ['demo'], ignore: ['demo'] }, { nonsense: 1 }, 7, 'nobody']) {
      await toControl('createTicket', 400, { headers: inference(), body: { model: 'demo/chat', provider } });
    }
    await toControl('createTicket', 413, { headers: inference(), body: { model: 'x'.repeat(300_000) } });
    await toControl('createTicket', 403, {
      headers: inference(),
      body: { model: 'demo/chat', provider: { minimum_privacy: 'tee' } },
    });
    await toControl('createAttestationTicket', 403, { headers: inference(), body: { model: 'demo/chat' } });
    await toControl('getProviderEvidence', 400, { headers: inference() });
    await toControl('getProviderReceipt', 404, {
      headers: inference(),
      parameters: { providerRequestId: 'preq_aaaaaaaaaaaaaaaaaaaa' },
    });
    await toControl('refuseProviderEvidenceByTicket', 404, { body: {} });
  });

  it('answers chat and embeddings in both flows, whole and streamed', async () => {
    const chat = exampleOf(broker, 'createChatCompletion');
    await toBroker('createChatCompletion', 200, { headers: inference(), body: chat });
    await toBroker('createChatCompletion', 200, { headers: await ticket({ model: chat.model }), body: chat });
    const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }];
    const streamed = { ...chat, stream: true, stream_options: { include_usage: true }, tools, reasoning_effort: 'low' };
    const answer = await toBroker('createChatCompletion', 200, { headers: inference(), body: streamed });
    expect(answer.text).toContain('"cost"');
    expect(answer.text).toContain('tool_calls');
    const embed = exampleOf(broker, 'createEmbeddings');
    await toBroker('createEmbeddings', 200, { headers: inference(), body: embed });
    await toBroker('createEmbeddings', 200, { headers: inference(), body: { ...embed, encoding_format: 'base64' } });
    await toBroker('listModels', 200, { headers: inference() });
    await toBroker('listModels', 404);

    for (const id of ['createChatCompletion', 'createEmbeddings']) {
      const body = id === 'createEmbeddings' ? embed : chat;
      await toBroker(id, 401, { body });
      await toBroker(id, 401, { body, headers: bearer('bad') });
      await toBroker(id, 401, { body, headers: { 'x-router-ticket': 'bad' } });
      await toBroker(id, 403, { body, headers: management() });
      await toBroker(id, 400, { body: {}, headers: inference() });
      await toBroker(id, 404, { body: { ...body, model: 'no/such' }, headers: inference() });
      await toBroker(id, 409, { body, headers: await ticket({ model: 'demo/speech', input_chars: 5 }) });
    }
    const far = { ...chat, messages: [{ role: 'user', content: 'word '.repeat(400_000) }] };
    await toBroker('createChatCompletion', 400, { body: far, headers: inference() });
    await toBroker('createChatCompletion', 400, {
      body: chat,
      headers: { ...(await ticket({ model: chat.model })), 'x-router-e2ee': '{}' },
    });
  });

  it('makes images and speech', async () => {
    const image = exampleOf(broker, 'createImage');
    const imageTicket = () => ticket({ model: image.model, operation: 'image', size: image.size });
    await toBroker('createImage', 200, { headers: await imageTicket(), body: image });
    await toBroker('createImage', 409, { headers: await imageTicket(), body: { ...image, size: '256x256' } });
    await toBroker('createImage', 401, { headers: inference(), body: image });
    await toBroker('createImage', 400, { headers: await imageTicket(), body: { ...image, size: '10x10' } });
    const speech = exampleOf(broker, 'createSpeech');
    const chars = String(speech.input).length;
    const speechTicket = () => ticket({ model: speech.model, operation: 'speech', input_chars: chars });
    await toBroker('createSpeech', 200, { headers: await speechTicket(), body: speech });
    await toBroker('createSpeech', 409, { headers: await speechTicket(), body: { ...speech, input: 'More words.' } });
    await toBroker('createSpeech', 401, { body: speech });
  });

  it('attests itself, and signs receipts', async () => {
    await toBroker('getGatewayEvidence', 200, { query: `?nonce=${hex(32)}` });
    await toBroker('getGatewayEvidence', 400);
    const secret = { 'x-router-receipt': hex(32) };
    const body = exampleOf(broker, 'createChatCompletion');
    await toBroker('createChatCompletion', 200, { headers: { ...inference(), ...secret }, body });
    await until(async () => {
      const found = await fetch(`${quickstart().base_url}/inference/receipt`, { headers: secret });
      return found.status === 200;
    }, 'the receipt is there');
    await toBroker('getRequestReceipt', 200, { headers: secret });
    await toBroker('getRequestReceipt', 404, { headers: { 'x-router-receipt': hex(32) } });
    await toBroker('getRequestReceipt', 400);
    await toBroker('createProviderEvidence', 401, { body: { nonce: hex(32) } });
    await toBroker('refuseProviderEvidenceByKey', 404);
  });

  it('shows models, balance and usage for keys', async () => {
    await toControl('listModels', 200, { headers: inference() });
    await toControl('getEffectiveRouting', 200, { headers: inference() });
    for (const id of ['listModels', 'getEffectiveRouting', 'getBalance', 'listUsage', 'sumUsage']) {
      await toControl(id, 401);
    }
    await toControl('getEffectiveRouting', 403, { headers: management() });
    await toControl('getBalance', 200, { headers: management() });
    await toControl('getBalance', 403, { headers: inference() });
    await until(async () => {
      const { json } = await toControl('listUsage', 200, { headers: management() });
      return (json as { data: unknown[] }).data.length > 0;
    }, 'there is usage');
    await toControl('listUsage', 200, { headers: management(), query: '?format=csv' });
    await toControl('listUsage', 400, { headers: management(), query: '?limit=0' });
    const groups = '?group_by=day,month,model,provider,key_id,workspace_id,operation,privacy_class';
    await toControl('sumUsage', 200, { headers: management(), query: groups });
    await toControl('sumUsage', 200, { headers: management(), query: '?format=csv' });
    await toControl('sumUsage', 400, { headers: management(), query: '?group_by=hour' });
  });

  it('manages preferences, keys and workspaces by session', async () => {
    const body = exampleOf(control, 'putPreferences');
    await toControl('getPreferences', 200, { headers: cookie });
    await toControl('putPreferences', 200, { headers: cookie, body });
    await toControl('putPreferences', 400, { headers: cookie, body: { provider_sort: 'best' } });
    await toControl('putPreferences', 404, {
      headers: cookie,
      body,
      query: '?workspace_id=00000000-0000-4000-8000-000000000000',
    });
    await toControl('previewRouting', 200, { headers: cookie, body: exampleOf(control, 'previewRouting') });
    await toControl('previewRouting', 200, { headers: cookie, body: { model: '/auto' } });
    const made = await toControl('createKey', 201, { headers: cookie, body: exampleOf(control, 'createKey') });
    const { id } = made.json as { id: string };
    await toControl('createKey', 400, { headers: cookie, body: { name: 'x', kind: 'other' } });
    await toControl('listKeys', 200, { headers: cookie });
    const change = exampleOf(control, 'updateKey');
    await toControl('updateKey', 200, { headers: cookie, parameters: { id }, body: change });
    await toControl('revokeKey', 204, { headers: cookie, parameters: { id } });
    for (const unknown of ['updateKey', 'revokeKey']) {
      const asked = { headers: cookie, parameters: { id: 'none' } };
      await toControl(unknown, 404, unknown === 'updateKey' ? { ...asked, body: change } : asked);
    }
    await toControl('listWorkspaces', 200, { headers: cookie });
    for (const closed of ['getPreferences', 'listKeys', 'listWorkspaces']) await toControl(closed, 401);
    await toControl('createKey', 403, {
      headers: { ...cookie, origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' },
      body: exampleOf(control, 'createKey'),
    });
    await toControl('putPreferences', 401, { body });
    await toControl('previewRouting', 401, { body: { model: 'demo/chat' } });
  });

  it('shares workspaces', async () => {
    const person = { ...exampleOf(control, 'signUp'), email: `${hex(8)}@people.example` };
    await toControl('signUp', 200, { body: person });
    const guest = await signIn({ email: person.email, password: String((person as Record<string, unknown>).password) });
    const name = exampleOf(control, 'createWorkspace');
    const { id } = (await toControl('createWorkspace', 201, { headers: cookie, body: name })).json as { id: string };
    const parameters = { id };
    await toControl('createWorkspace', 400, { headers: cookie, body: {} });
    await toControl('renameWorkspace', 200, {
      headers: cookie,
      parameters,
      body: exampleOf(control, 'renameWorkspace'),
    });
    await toControl('renameWorkspace', 404, { headers: guest, parameters, body: name });
    const invite = async (role: string) => {
      const body = { ...exampleOf(control, 'createInvitation'), email: person.email, role };
      const { json } = await toControl('createInvitation', 201, { headers: cookie, parameters, body });
      return json as { id: string; token: string };
    };
    const first = await invite('member');
    await toControl('createInvitation', 400, {
      headers: cookie,
      parameters,
      body: { email: 'nobody', role: 'member' },
    });
    await toControl('listInvitations', 200, { headers: cookie, parameters });
    await toControl('listInvitations', 404, { headers: guest, parameters });
    const withdraw = { headers: cookie, parameters: { id, invitationId: first.id } };
    await toControl('withdrawInvitation', 204, withdraw);
    await toControl('withdrawInvitation', 404, withdraw);
    await toControl('declineInvitation', 204, { headers: guest, body: { token: (await invite('member')).token } });
    const { token } = await invite('member');
    await toControl('readInvitation', 403, { headers: cookie, body: { token } });
    await toControl('readInvitation', 200, { headers: guest, body: { token } });
    await toControl('acceptInvitation', 200, { headers: guest, body: { token } });
    for (const answered of ['readInvitation', 'acceptInvitation', 'declineInvitation']) {
      await toControl(answered, 404, { headers: guest, body: exampleOf(control, answered) });
    }
    const { json } = await toControl('listMembers', 200, { headers: cookie, parameters });
    await toControl('listMembers', 401, { parameters });
    const { data } = json as { data: { account_id: string; role: string }[] };
    const memberId = data.find(({ role }) => role === 'member')?.account_id ?? '';
    const member = { headers: cookie, parameters: { id, memberId } };
    await toControl('changeMemberRole', 200, { ...member, body: exampleOf(control, 'changeMemberRole') });
    await toControl('changeMemberRole', 403, { ...member, headers: guest, body: { role: 'admin' } });
    await toControl('listKeys', 200, { headers: cookie, query: `?workspace_id=${id}` });
    await toControl('removeMember', 204, member);
    await toControl('removeMember', 404, member);
    await toControl('deleteWorkspace', 204, { headers: cookie, parameters });
    await toControl('deleteWorkspace', 404, { headers: cookie, parameters });
  });

  /** The token of the newest mail to an address, as `npm start` prints it. */
  const printedToken = async (email: string, path: string): Promise<string> => {
    let token: string | undefined;
    await until(async () => {
      const mail = started
        ?.output()
        .split('mail to ')
        .findLast((each) => each.startsWith(email) && each.includes(path));
      token = mail?.match(/#token=(\S+)/)?.[1];
      return token !== undefined;
    }, 'the mail is printed');
    return token ?? '';
  };

  it('verifies addresses, changes them, and sets passwords anew', async () => {
    const person = { ...exampleOf(control, 'signUp'), email: `${hex(8)}@people.example` };
    const password = 'correct horse battery';
    await toControl('signUp', 200, { body: person });
    const session = await signIn({ email: person.email, password });
    await toControl('listWaitingInvitations', 403, { headers: session });
    await toControl('beginPasskeyRegistration', 403, { headers: session });
    await toControl('enableSecondFactor', 403, { headers: session, body: { password } });
    await toControl('verifyEmail', 400, { body: exampleOf(control, 'verifyEmail') });
    const verify = await printedToken(person.email, '/verify-email');
    await toControl('verifyEmail', 401, { body: { token: verify, password: 'not it' } });
    await toControl('verifyEmail', 200, { body: { token: verify, password } });
    await toControl('sendVerificationEmail', 200, { body: { email: person.email } });
    await toControl('sendVerificationEmail', 400, { body: { email: 'nobody' } });

    const newEmail = `${hex(8)}@people.example`;
    await toControl('changeEmail', 400, { headers: session, body: { newEmail, password: 'not it' } });
    await toControl('changeEmail', 401, { body: exampleOf(control, 'changeEmail') });
    await toControl('changeEmail', 200, { headers: session, body: { newEmail, password } });
    const token = await printedToken(newEmail, '/verify-email');
    await toControl('verifyEmail', 200, { headers: session, body: { token } });

    await toControl('requestPasswordReset', 200, { body: { email: newEmail } });
    await toControl('requestPasswordReset', 400, { body: {} });
    await toControl('resetPassword', 400, { body: exampleOf(control, 'resetPassword') });
    const newPassword = 'staple battery horse';
    const body = { token: await printedToken(newEmail, '/reset-password'), newPassword };
    await toControl('resetPassword', 200, { body });
    const again = await signIn({ email: newEmail, password: newPassword });

    await toControl('updateUser', 200, { headers: again, body: exampleOf(control, 'updateUser') });
    await toControl('updateUser', 400, { headers: again, body: { emailVerified: true } });
    await toControl('listSignInWays', 200, { headers: again });
    await toControl('listSignInWays', 401);
    await toControl('listSignInMethods', 200);

    const name = exampleOf(control, 'createWorkspace');
    const { id } = (await toControl('createWorkspace', 201, { headers: cookie, body: name })).json as { id: string };
    for (const [answer, status] of [
      ['declineWaitingInvitation', 204],
      ['acceptWaitingInvitation', 200],
    ] as const) {
      const offered = { email: newEmail, role: 'member' };
      await toControl('createInvitation', 201, { headers: cookie, parameters: { id }, body: offered });
      const { json } = await toControl('listWaitingInvitations', 200, { headers: again });
      const [waiting] = (json as { data: { id: string }[] }).data;
      const asked = { headers: again, parameters: { id: waiting?.id ?? '' }, body: {} };
      await toControl(answer, status, asked);
      await toControl(answer, 404, asked);
    }
  });

  it('asks for a second factor, and takes passkeys', async () => {
    const person = { ...exampleOf(control, 'signUp'), email: `${hex(8)}@people.example` };
    const password = 'correct horse battery';
    await toControl('signUp', 200, { body: person });
    const token = await printedToken(person.email, '/verify-email');
    let session = cookieOf(await toControl('verifyEmail', 200, { body: { token, password } }));

    await toControl('beginPasskeyRegistration', 401);
    await toControl('beginPasskeyRegistration', 403, { headers: session });
    await toControl('confirmPassword', 401, { body: { password } });
    await toControl('confirmPassword', 400, { headers: session, body: { password: 'not it' } });
    const confirmed = await toControl('confirmPassword', 200, { headers: session, body: { password } });
    const { confirmation } = confirmed.json as { confirmation: string };
    const { challenge } = (await toControl('beginPasskeyRegistration', 200, { headers: session })).json as {
      challenge: string;
    };
    await toControl('getPasskeyReview', 401);
    await toControl('getPasskeyReview', 200, { headers: session });
    await toControl('endPasskeyReview', 401, { body: {} });
    await toControl('endPasskeyReview', 200, { headers: session, body: {} });
    await toControl('registerPasskey', 401, { body: exampleOf(control, 'registerPasskey') });
    await toControl('registerPasskey', 403, { headers: session, body: exampleOf(control, 'registerPasskey') });
    const presence = { origin: new URL(quickstart().control_url).origin, rpId: 'localhost' };
    const key = new Authenticator();
    const withChallenge = async (id: string, headers: { cookie: string }) => {
      const answer = await toControl(id, 200, { headers });
      return {
        challenge: (answer.json as { challenge: string }).challenge,
        headers: { cookie: `${headers.cookie}; ${cookieOf(answer).cookie}` },
      };
    };
    expect(challenge.length).toBeGreaterThan(20);
    const begun = await withChallenge('beginPasskeyRegistration', session);
    const made = key.register(begun.challenge, presence);
    const added = await toControl('registerPasskey', 200, {
      headers: begun.headers,
      body: { response: made, confirmation },
    });
    const { id } = added.json as { id: string };
    await toControl('listPasskeys', 200, { headers: session });
    await toControl('listPasskeys', 401);
    const shown = await withChallenge('beginPasskeySignIn', { cookie: 'none=1' });
    const asserted = key.assert(shown.challenge, presence);
    await toControl('signInWithPasskey', 200, {
      headers: { cookie: shown.headers.cookie, origin: presence.origin },
      body: { response: asserted },
    });
    await toControl('signInWithPasskey', 400, { body: exampleOf(control, 'signInWithPasskey') });
    await toControl('renamePasskey', 200, { headers: session, body: { id, name: 'Phone' } });
    await toControl('renamePasskey', 404, { headers: session, body: exampleOf(control, 'renamePasskey') });
    await toControl('deletePasskey', 200, { headers: session, body: { id } });
    await toControl('deletePasskey', 404, { headers: session, body: { id } });

    await toControl('enableSecondFactor', 401, { body: { password } });
    const enabled = await toControl('enableSecondFactor', 200, { headers: session, body: { password } });
    const { totpURI } = enabled.json as { totpURI: string };
    await toControl('verifyTotp', 401, { headers: session, body: { code: '000000' } });
    const first = { code: totpCode(totpURI, Date.now()) };
    session = cookieOf(await toControl('verifyTotp', 200, { headers: session, body: first }));
    const codes = await toControl('generateBackupCodes', 200, { headers: session, body: { password } });
    await toControl('generateBackupCodes', 400, { headers: session, body: { password: 'not it' } });
    const half = await signIn({ email: person.email, password });
    await toControl('verifyBackupCode', 401, { headers: half, body: exampleOf(control, 'verifyBackupCode') });
    const [code] = (codes.json as { backupCodes: string[] }).backupCodes;
    await toControl('verifyBackupCode', 200, { headers: half, body: { code } });
    await toControl('disableSecondFactor', 400, { headers: session, body: { password: 'not it' } });
    await toControl('disableSecondFactor', 200, { headers: session, body: { password } });

    await toControl('signInWithOpenid', 404, { body: exampleOf(control, 'signInWithOpenid') });
    await toControl('finishOpenidSignIn', 302, { parameters: { id: 'openid' }, query: '?code=x&state=y' });
  });

  it('sells balance', async () => {
    const made = await toControl('createOrder', 201, { headers: cookie, body: exampleOf(control, 'createOrder') });
    const { id, receipt_number: number } = made.json as { id: string; receipt_number: string };
    await toControl('createOrder', 200, { headers: cookie, body: exampleOf(control, 'createOrder') });
    const other = { ...exampleOf(control, 'createOrder'), package_id: 'usd-10' };
    await toControl('createOrder', 409, { headers: cookie, body: other });
    await toControl('createOrder', 400, { headers: cookie, body: { package_id: 'no', rail: 'test' } });
    await toControl('createOrder', 503, { headers: cookie, body: { package_id: 'usd-25', rail: 'card' } });
    await toControl('getOrder', 200, { headers: cookie, parameters: { orderId: id } });
    await toControl('getOrder', 404, { headers: cookie, parameters: { orderId: 'none' } });
    await toControl('listOrders', 200, { headers: cookie });
    await toControl('listOrders', 400, { headers: cookie, query: '?limit=0' });
    await toControl('listReceipts', 200, { headers: cookie });
    await toControl('listReceipts', 401);
    for (const format of ['json', 'html', 'pdf']) {
      const asked = { headers: cookie, parameters: { receiptNumber: number }, query: `?format=${format}` };
      await toControl('getReceipt', 200, asked);
    }
    await toControl('getReceipt', 404, { headers: cookie, parameters: { receiptNumber: 'none' } });
    await toControl('getBillingSettings', 200, { headers: cookie });
    await toControl('getBillingSettings', 401);
    await toControl('putBillingSettings', 200, { headers: cookie, body: exampleOf(control, 'putBillingSettings') });
    await toControl('putBillingSettings', 400, { headers: cookie, body: {} });
    await toControl('receiveStripeEvent', 503, { body: {} });
    await toControl('receiveBTCPayServerEvent', 503, { body: {} });
  });

  it('signs people up, in and out', async () => {
    const person = { ...exampleOf(control, 'signUp'), email: `${hex(8)}@people.example` };
    await toControl('signUp', 200, { body: person });
    await toControl('signUp', 400, { body: { ...person, email: 'nobody' } });
    const who = { email: person.email, password: String((person as Record<string, unknown>).password) };
    await toControl('signIn', 401, { body: { ...who, password: 'wrong' } });
    const session = await signIn(who);
    await signIn(who);
    await toControl('getSession', 200, { headers: session });
    await toControl('getSession', 200);
    await toControl('listSessions', 401);
    const { json } = await toControl('listSessions', 200, { headers: session });
    const [{ token } = { token: '' }] = json as { token: string }[];
    await toControl('changePassword', 200, { headers: session, body: exampleOf(control, 'changePassword') });
    await toControl('changePassword', 400, { headers: session, body: exampleOf(control, 'changePassword') });
    await toControl('revokeOtherSessions', 200, { headers: session, body: {} });
    const foreign = { ...session, origin: 'https://elsewhere.example' };
    await toControl('revokeOtherSessions', 403, { headers: foreign, body: {} });
    await toControl('revokeSession', 401, { body: { token } });
    await toControl('revokeSession', 200, { headers: session, body: { token: 'unknown' } });
    for (const id of ['revokeOtherSessions', 'revokeSessions']) await toControl(id, 401, { body: {} });
    await toControl('signOut', 403, { headers: foreign, body: {} });
    await toControl('revokeSessions', 200, { headers: session, body: {} });
    await toControl('signOut', 200, { headers: session, body: {} });
  });

  it('lets apps connect', async () => {
    const { controlUrl } = { controlUrl: quickstart().control_url };
    const redirect = 'http://127.0.0.1:1/callback';
    const asked = { ...exampleOf(control, 'createApp'), redirect_uris: [redirect], scopes: ['openid', 'usage:read'] };
    const made = await toControl('createApp', 201, { headers: cookie, body: asked });
    const app = made.json as AppAnswer;
    const parameters = { id: app.id };
    await toControl('createApp', 400, { headers: cookie, body: {} });
    await toControl('listApps', 200, { headers: cookie });
    for (const closed of ['listApps', 'listGrants']) await toControl(closed, 401);
    await toControl('updateApp', 200, { headers: cookie, parameters, body: exampleOf(control, 'updateApp') });

    const browser = new Browser();
    const { email, password } = quickstart();
    await browser.ask('POST', `${controlUrl}/auth/sign-in/email`, { body: { email, password } });
    const client = await clientOf({ controlUrl }, app);
    const started = await start(client, { redirect_uri: redirect, scope: 'openid usage:read' });
    const uid = new URL(await browser.follow(started.url)).searchParams.get('uid') ?? '';
    const here = {
      parameters: { uid },
      headers: { cookie: browser.cookiesFor(`${controlUrl}/connect/interactions/${uid}`) },
    };
    await toControl('readInteraction', 200, here);
    await toControl('readInteraction', 404, { headers: cookie, parameters: { uid: 'none' } });
    await toControl('answerInteraction', 400, { ...here, body: { decision: 'perhaps' } });
    const answered = await toControl('answerInteraction', 200, {
      ...here,
      body: exampleOf(control, 'answerInteraction'),
    });
    const { redirect_to: next } = answered.json as { redirect_to: string };
    const { access_token: token } = await exchange(client, started, await browser.follow(next));
    await toControl('getBalance', 200, { headers: bearer(token) });
    const { json } = await toControl('listGrants', 200, { headers: cookie });
    const grant = { id: (json as { data: { id: string }[] }).data[0]?.id ?? '' };
    await toControl('disconnectGrant', 204, { headers: cookie, parameters: grant });
    await toControl('disconnectGrant', 404, { headers: cookie, parameters: { id: 'none' } });
    await toControl('getBalance', 401, { headers: bearer(token) });

    await toControl('rotateAppSecret', 200, { headers: cookie, parameters, body: {} });
    await toControl('disableApp', 204, { headers: cookie, parameters });
    for (const id of ['updateApp', 'rotateAppSecret', 'disableApp']) {
      const body = id === 'disableApp' ? {} : { body: id === 'updateApp' ? { name: 'x' } : {} };
      await toControl(id, 404, { headers: cookie, parameters, ...body });
    }
  });

  it('was called as described, each route, to success and to failure', () => {
    const unseen = (origin: DescribedOrigin, seen: ReadonlySet<string>): string[] =>
      origin.operations.map(({ operationId }) => operationId).filter((id) => !seen.has(id));
    // Those of enclaves have their tests below; the others need a payment service or an OpenID provider, or are there to refuse.
    expect(unseen(control, control.succeeded)).toEqual([
      'createAttestationTicket',
      'getProviderEvidence',
      'refuseProviderEvidenceByTicket',
      'getProviderReceipt',
      'receiveStripeEvent',
      'receiveBTCPayServerEvent',
      'signInWithOpenid',
    ]);
    expect(unseen(broker, broker.succeeded)).toEqual(['createProviderEvidence', 'refuseProviderEvidenceByKey']);
    // What takes nothing, and is refused nothing but for its rate.
    expect(unseen(control, control.failed)).toEqual([
      'listCatalog',
      'getCapabilities',
      'getBillingCatalog',
      'getSession',
      'listSignInMethods',
      'beginPasskeySignIn',
      'finishOpenidSignIn',
      'getHealth',
      'getReadiness',
      'getOpenApi',
      'getDashboard',
      'getReference',
    ]);
    expect(unseen(broker, broker.failed)).toEqual(['getHealth', 'getReadiness', 'getOpenApi']);
  });
});

describe('providers in enclaves, by the description', () => {
  let postgres: TestPostgres | undefined;
  let world: TeeWorld | undefined;
  let service: Service | undefined;
  let account: TestAccount;
  let control: DescribedOrigin;
  let broker: DescribedOrigin;
  const toControl = callerOf(() => control);
  const toBroker = callerOf(() => broker);

  beforeAll(async () => {
    postgres = await startTestPostgres();
    world = await startTeeWorld();
    service = await startService({
      planes: 'one',
      databaseUrl: await postgres.createDatabase(),
      registry: world.registry,
      catalog: world.catalog,
      enclaves: world.enclaves,
      environment: world.environment ?? {},
    });
    control = await DescribedOrigin.load(new URL(service.controlUrl).origin);
    broker = await DescribedOrigin.load(new URL(service.baseUrl).origin);
    account = await service.createAccount();
  });
  afterAll(async () => {
    await service?.stop();
    await world?.stop();
    await postgres?.stop();
  });

  it.each(['near', 'phala-aci', 'tinfoil', 'chutes', 'venice', 'phala-vllm-proxy'])(
    'gives evidence of %s, with a key and by ticket',
    async (kind) => {
      const headers = bearer(account.inferenceKey);
      const model = `tee/${kind}`;
      await toControl('getProviderEvidence', 200, { headers, query: `?model=${model}&nonce=${hex(32)}` });
      const { json } = await toControl('createAttestationTicket', 200, { headers, body: { model } });
      const ticket = { 'x-router-ticket': (json as { ticket: string }).ticket };
      await toBroker('createProviderEvidence', 200, { headers: ticket, body: { nonce: hex(32) } });
      await toBroker('createProviderEvidence', 401, { headers: ticket, body: { nonce: hex(32) } });
    },
  );

  it("has an enclave's own receipt", async () => {
    const headers = bearer(account.inferenceKey);
    const body = { model: 'tee/near', messages: [{ role: 'user', content: 'Hello' }] };
    const answer = await toBroker('createChatCompletion', 200, { headers, body });
    const providerRequestId = answer.headers.get('x-router-provider-request-id') ?? '';
    const asked = { headers, parameters: { providerRequestId } };
    await until(async () => {
      const found = await fetch(`${service?.controlUrl}/tee/signature/${providerRequestId}`, { headers });
      return found.status === 200;
    }, 'the receipt is there');
    await toControl('getProviderReceipt', 200, asked);
  });
});
