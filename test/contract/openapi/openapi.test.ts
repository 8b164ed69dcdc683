import { createHash } from 'node:crypto';
import { Validator } from '@seriousme/openapi-schema-validator';
import type { AppAnswer } from '@sotto/contract/control/connect';
import { describe, expect, it } from 'vitest';
import { Browser } from '../../kit/browser.ts';
import { bearer, ticketHeader } from '../../kit/client.ts';
import { clientOf, exchange, start } from '../../kit/connected-apps.ts';
import { until } from '../../kit/service.ts';
import { blindedNumbers, signedCredits } from '../../kit/wallets.ts';
import { describedService, example, hex } from './described-service.ts';
import type { DescribedOrigin } from './description.ts';
import { describeEnclaves } from './enclaves.ts';
import { describeGeneratedClients } from './generated-clients.ts';
import { describeOperators } from './operators.ts';
import { describePeople } from './people.ts';
import { describeProvisioning } from './provisioning.ts';

describe('the service of `npm start`, by its own description', () => {
  const stage = describedService();
  const { toControl, toBroker, asOwner, owner, exampleOf, quickstart } = stage;
  const inference = () => bearer(quickstart().inference_key);
  const management = () => bearer(quickstart().management_key);
  const ticket = async (request: object) => {
    const { json } = await toControl('createTicket', 200, { headers: inference(), body: request });
    return ticketHeader((json as { ticket: string }).ticket);
  };

  it('is valid OpenAPI 3.1, on both origins', async () => {
    for (const { document } of [stage.control, stage.broker]) {
      const validator = new Validator();
      const result = await validator.validate(structuredClone(document) as unknown as Record<string, unknown>);
      expect(result.errors).toBeUndefined();
      expect(result.valid).toBe(true);
      expect(validator.version).toBe('3.1');
    }
  });

  it('answers every route without requirements, and explains errors', async () => {
    for (const [call, origin] of [
      [toControl, stage.control],
      [toBroker, stage.broker],
    ] as const) {
      for (const id of ['getHealth', 'getReadiness', 'getOpenApi']) await call(id, 200);
      expect(origin.succeeded.size).toBeGreaterThan(2);
    }
    for (const id of [
      'listCatalog',
      'listMeasurements',
      'getStatus',
      'getCapabilities',
      'getBillingCatalog',
      'getDashboard',
    ])
      await toControl(id, 200);
    await toControl('getReference', 302);
    await toControl('askDocumentation', 200, { body: example });
    await toControl('askDocumentation', 400, { body: {} });
    await toControl('getUptime', 200, { query: '?model=demo/chat' });
    await toControl('getUptime', 400);
    await toControl('getUptime', 404, { query: '?model=no/such' });
    await toControl('listEligibleModels', 200, { body: example });
    await toControl('listEligibleModels', 400, { body: { preferences: { nonsense: 1 } } });
    await toControl('listEligibleModels', 415, { body: {}, headers: { 'content-type': 'text/plain' } });
  });

  it('mints tickets, and rejects invalid requests for them', async () => {
    await toControl('createTicket', 200, { headers: inference(), body: example });
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
    const chat = exampleOf('broker', 'createChatCompletion');
    await toBroker('createChatCompletion', 200, { headers: inference(), body: chat });
    await toBroker('createChatCompletion', 200, { headers: await ticket({ model: chat.model }), body: chat });
    const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }];
    const streamed = { ...chat, stream: true, stream_options: { include_usage: true }, tools, reasoning_effort: 'low' };
    const answer = await toBroker('createChatCompletion', 200, { headers: inference(), body: streamed });
    expect(answer.text).toContain('"cost"');
    expect(answer.text).toContain('tool_calls');
    const embed = exampleOf('broker', 'createEmbeddings');
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

  it('generates images and speech', async () => {
    const image = exampleOf('broker', 'createImage');
    const imageTicket = () => ticket({ model: image.model, operation: 'image', size: image.size });
    await toBroker('createImage', 200, { headers: await imageTicket(), body: image });
    await toBroker('createImage', 409, { headers: await imageTicket(), body: { ...image, size: '256x256' } });
    await toBroker('createImage', 401, { headers: inference(), body: image });
    await toBroker('createImage', 400, { headers: await imageTicket(), body: { ...image, size: '10x10' } });
    const speech = exampleOf('broker', 'createSpeech');
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
    const body = exampleOf('broker', 'createChatCompletion');
    await toBroker('createChatCompletion', 200, { headers: { ...inference(), ...secret }, body });
    await until(async () => {
      const found = await fetch(`${quickstart().base_url}/inference/receipt`, { headers: secret });
      return found.status === 200;
    }, 'the receipt is there');
    await toBroker('getRequestReceipt', 200, { headers: secret });
    await toBroker('getRequestReceipt', 404, { headers: { 'x-router-receipt': hex(32) } });
    await toBroker('getRequestReceipt', 400);
    await toBroker('getEnclaveReceipt', 404, { headers: secret });
    await toBroker('getEnclaveReceipt', 400);
    await toBroker('createProviderEvidence', 401, { body: { nonce: hex(32) } });
    await toBroker('refuseProviderEvidenceByKey', 404);
  });

  it('shows models, balance and usage for keys', async () => {
    await toControl('listModels', 200, { headers: inference() });
    await toControl('getEffectiveRouting', 200, { headers: inference() });
    for (const id of ['listModels', 'getEffectiveRouting', 'getBalance', 'listUsage', 'sumUsage', 'countRefusals']) {
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
    await toControl('sumUsage', 400, { headers: management(), query: '?group_by=minute' });
    await toControl('countRefusals', 200, { headers: management() });
    await toControl('countRefusals', 400, { headers: management(), query: '?from=yesterday' });
  });

  it('manages preferences, keys and workspaces by session', async () => {
    const body = exampleOf('control', 'putPreferences');
    await asOwner('getPreferences', 200);
    await asOwner('putPreferences', 200, { body });
    await asOwner('putPreferences', 400, { body: { provider_sort: 'best' } });
    await asOwner('putPreferences', 404, { body, query: '?workspace_id=00000000-0000-4000-8000-000000000000' });
    await asOwner('previewRouting', 200, { body: example });
    await asOwner('previewRouting', 200, { body: { model: '/auto' } });
    const made = await asOwner('createKey', 201, { body: example });
    const { id } = made.json as { id: string };
    await asOwner('createKey', 400, { body: { name: 'x', kind: 'other' } });
    await asOwner('listKeys', 200);
    const change = exampleOf('control', 'updateKey');
    await asOwner('updateKey', 200, { parameters: { id }, body: change });
    const rotation = exampleOf('control', 'rotateKeySecret');
    await asOwner('rotateKeySecret', 200, { parameters: { id }, body: rotation });
    await asOwner('rotateKeySecret', 400, { parameters: { id }, body: { overlap_hours: 200 } });
    await asOwner('revokeKey', 204, { parameters: { id } });
    for (const [unknown, body] of [
      ['updateKey', change],
      ['rotateKeySecret', rotation],
      ['revokeKey', undefined],
    ] as const) {
      await asOwner(unknown, 404, { parameters: { id: 'none' }, body });
    }
    await asOwner('listWorkspaces', 200);
    for (const closed of ['getPreferences', 'listKeys', 'listWorkspaces']) await toControl(closed, 401);
    await toControl('createKey', 403, {
      headers: { ...owner(), origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' },
      body: example,
    });
    await toControl('putPreferences', 401, { body });
    await toControl('previewRouting', 401, { body: { model: 'demo/chat' } });
  });

  it('sells balance', async () => {
    const made = await asOwner('createOrder', 201, { body: example });
    const { id, receipt_number: number } = made.json as { id: string; receipt_number: string };
    await asOwner('createOrder', 200, { body: example });
    const other = { ...exampleOf('control', 'createOrder'), package_id: 'usd-10' };
    await asOwner('createOrder', 409, { body: other });
    await asOwner('createOrder', 400, { body: { package_id: 'no', rail: 'test' } });
    await asOwner('createOrder', 503, { body: { package_id: 'usd-25', rail: 'card' } });
    await asOwner('getOrder', 200, { parameters: { orderId: id } });
    await asOwner('getOrder', 404, { parameters: { orderId: 'none' } });
    await asOwner('listOrders', 200);
    await asOwner('listOrders', 400, { query: '?limit=0' });
    await asOwner('listReceipts', 200);
    await toControl('listReceipts', 401);
    for (const format of ['json', 'html', 'pdf']) {
      const asked = { headers: owner(), parameters: { receiptNumber: number }, query: `?format=${format}` };
      await toControl('getReceipt', 200, asked);
    }
    await asOwner('getReceipt', 404, { parameters: { receiptNumber: 'none' } });
    await asOwner('getBillingSettings', 200);
    await toControl('getBillingSettings', 401);
    await asOwner('getMonthlyGrant', 200);
    await toControl('getMonthlyGrant', 401);
    await asOwner('putBillingSettings', 200, { body: example });
    await asOwner('putBillingSettings', 400, { body: {} });
    await toControl('receiveStripeEvent', 503, { body: {} });
    await toControl('receiveBTCPayServerEvent', 503, { body: {} });
  });

  it('pays for anonymous wallets', async () => {
    const person = await stage.signUp();
    const headers = await stage.signIn(person);
    await toControl('createOrder', 201, { headers, body: { package_id: 'usd-10', rail: 'test' } });
    await toControl('getCreditIssuer', 200);
    await toControl('createCreditCode', 401, { body: { lots: 1 } });
    await toControl('createCreditCode', 400, { headers, body: {} });
    const { code } = (await toControl('createCreditCode', 201, { headers, body: { lots: 1 } })).json as {
      code: string;
    };
    await toControl('getCreditCode', 401);
    await toControl('getCreditCode', 200, { headers });
    const batch = { key_id: stage.issuer.keyId, blinded: blindedNumbers() };
    await toControl('withdrawCredits', 400, { body: { code, ...batch, key_id: 'f'.repeat(64) } });
    await toControl('withdrawCredits', 403, { body: { ...batch, code: 'AAAA-AAAA-AAAA-AAAA' } });
    await toControl('withdrawCredits', 200, { body: { code, ...batch } });
    await toControl('revokeCreditCode', 401);
    await toControl('revokeCreditCode', 204, { headers });
    const secret = Buffer.alloc(32, 7).toString('base64url');
    const close_hash = createHash('sha256').update(secret).digest('base64url');
    const wallet = {
      key_hash: Buffer.alloc(32, 8).toString('base64url'),
      close_hash,
      credits: signedCredits(stage.issuer),
    };
    await toControl('createWallet', 400, { body: { ...wallet, credits: wallet.credits.toReversed().slice(1) } });
    await toControl('createWallet', 204, { body: wallet });
    const { credits: _, ...ordered } = { ...wallet, package_id: 'usd-10' };
    await toControl('createWallet', 400, { body: { ...wallet, ...ordered } });
    await toControl('createWallet', 503, { body: ordered });
    await toControl('createWallet', 409, { body: { ...wallet, key_hash: close_hash } });
    await toControl('closeWallet', 404, { body: { ...batch, close_secret: wallet.key_hash } });
    await toControl('closeWallet', 200, { body: { ...batch, close_secret: secret } });
    await toControl('closeWallet', 409, { body: { ...batch, blinded: blindedNumbers(), close_secret: secret } });
  });

  it('lets apps connect', async () => {
    const controlUrl = quickstart().control_url;
    const redirect = 'http://127.0.0.1:1/callback';
    const asked = { ...exampleOf('control', 'createApp'), redirect_uris: [redirect], scopes: ['openid', 'usage:read'] };
    const made = await asOwner('createApp', 201, { body: asked });
    const app = made.json as AppAnswer;
    const parameters = { id: app.id };
    await asOwner('createApp', 400, { body: {} });
    await asOwner('listApps', 200);
    for (const closed of ['listApps', 'listGrants']) await toControl(closed, 401);
    await asOwner('updateApp', 200, { parameters, body: example });

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
    await asOwner('readInteraction', 404, { parameters: { uid: 'none' } });
    await toControl('answerInteraction', 400, { ...here, body: { decision: 'perhaps' } });
    const answered = await toControl('answerInteraction', 200, { ...here, body: example });
    const { redirect_to: next } = answered.json as { redirect_to: string };
    const { access_token: token } = await exchange(client, started, await browser.follow(next));
    await toControl('getBalance', 200, { headers: bearer(token) });
    const { json } = await asOwner('listGrants', 200);
    const grant = { id: (json as { data: { id: string }[] }).data[0]?.id ?? '' };
    await asOwner('disconnectGrant', 204, { parameters: grant });
    await asOwner('disconnectGrant', 404, { parameters: { id: 'none' } });
    await toControl('getBalance', 401, { headers: bearer(token) });

    await asOwner('rotateAppSecret', 200, { parameters, body: {} });
    await asOwner('disableApp', 204, { parameters });
    await asOwner('updateApp', 404, { parameters, body: { name: 'x' } });
    await asOwner('rotateAppSecret', 404, { parameters, body: {} });
    await asOwner('disableApp', 404, { parameters });
  });

  describePeople(stage);
  describeOperators(stage);
  describeProvisioning(stage);
  describeGeneratedClients(stage);

  it('was called as described, each route, to success and to failure', () => {
    const unseen = (origin: DescribedOrigin, seen: ReadonlySet<string>): string[] =>
      origin.operations.map(({ operationId }) => operationId).filter((id) => !seen.has(id));
    // The suite below covers the operations of enclaves. The others need a payment service or an OpenID provider, or
    // always reject.
    expect(unseen(stage.control, stage.control.succeeded)).toEqual([
      'createAttestationTicket',
      'getProviderEvidence',
      'refuseProviderEvidenceByTicket',
      'getProviderReceipt',
      'receiveStripeEvent',
      'receiveBTCPayServerEvent',
      'signInWithOpenid',
      'endOpenidSessions',
    ]);
    expect(unseen(stage.broker, stage.broker.succeeded)).toEqual([
      'getEnclaveReceipt',
      'createProviderEvidence',
      'refuseProviderEvidenceByKey',
    ]);
    // These operations have no input, so they fail only by their rate limit.
    expect(unseen(stage.control, stage.control.failed)).toEqual([
      'listCatalog',
      'listMeasurements',
      'getCapabilities',
      'getStatus',
      'getBillingCatalog',
      'getCreditIssuer',
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
    expect(unseen(stage.broker, stage.broker.failed)).toEqual(['getHealth', 'getReadiness', 'getOpenApi']);
  });
});

await describeEnclaves();
