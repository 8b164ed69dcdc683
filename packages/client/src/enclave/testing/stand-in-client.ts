import type { ProviderVerification } from '@sotto/attestation';
import { answerFrom } from '../../answer.ts';
import {
  type EnclaveRequest,
  type StandInEnclave,
  type StandInKind,
  standInEnclave,
} from '../../e2ee/testing/index.ts';
import { ClientError } from '../../errors.ts';
import type { Platform } from '../../gateway/platform.ts';
import { simulatedEvidence } from '../../gateway/testing/simulated-evidence.ts';
import { fetchOver, makePrivateClient } from '../../private/create-private-fetch.ts';
import type { PrivateFetchOptions } from '../../private/private-options.ts';

const controlOrigin = 'http://127.0.0.1:4000';
const baseOrigin = 'http://127.0.0.1:4001';
/** The model's public id. */
export const model = 'sealed/model';
/** An answer in JSON. */
export const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } });

/** The answer that a broker passes on. It is asked with the sealed request, or without one for evidence. */
type Relay = (answer: Response, asked?: EnclaveRequest) => Response | Promise<Response>;

/**
 * A client with recorded requests, in front of a stand-in enclave of one kind. It accepts relay attacks, unless `options`
 * say otherwise.
 */
export function standIn(
  kind: StandInKind,
  options: Partial<PrivateFetchOptions> = {},
  enclave: StandInEnclave = standInEnclave(kind),
) {
  const toControl: { path: string; text: string }[] = [];
  const toBroker: { path: string; headers: Record<string, string>; body: Buffer }[] = [];
  let verified: Partial<ProviderVerification> = {};
  let relay: Relay = (answer) => answer;
  let hasEvidence = true;
  let refuse: (path: string) => Response | undefined = () => undefined;
  let spy: (asked: EnclaveRequest) => Promise<void> = async () => undefined;
  let listed: object[] = [{ provider: kind, privacy_class: 'e2ee', max_output_tokens: 300 }];
  const platform: Platform = {
    seesTlsKeys: true,
    async readEvidence(origin, { nonce }) {
      if (!hasEvidence) throw new ClientError('attestation_unavailable');
      return { document: await simulatedEvidence(nonce, { origin }) };
    },
    openChannel: () => ({
      async send({ path, headers, body }) {
        const bytes = Buffer.from(body ?? '');
        toBroker.push({ path, headers: { ...headers }, body: bytes });
        if (path === '/v1/tee/attestation') {
          const { nonce } = JSON.parse(bytes.toString()) as { nonce: string };
          return answerFrom(await relay(json({ nonce })));
        }
        await spy({ headers, body: bytes });
        const answer = await enclave.answer({ headers, body: bytes });
        const own = { ...answer.headers, 'x-router-privacy-class': 'e2ee', 'x-request-id': 'req_0123456789abcdef' };
        const whole = new Response(Buffer.concat(answer.pieces), { status: answer.status, headers: own });
        return answerFrom(await relay(whole, { headers, body: bytes }));
      },
      close: () => undefined,
    }),
  };
  const control = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const path = new URL(String(input)).pathname;
    toControl.push({ path, text: String(init?.body ?? '') });
    const refusal = refuse(path);
    if (refusal !== undefined) return refusal;
    if (path === '/v1/models') return json({ data: [{ id: model, provider_routes: listed }] });
    return json({ ticket: `ticket-${toControl.length}`, expires_at: new Date(Date.now() + 300_000).toISOString() });
  };
  const verifyProvider = async (): Promise<ProviderVerification> => ({
    verdict: 'cryptographically_checked',
    checks: [{ name: 'provider.measurement', outcome: 'passed' }],
    gpu: { standing: 'none', models: [] },
    key: enclave.nextKey(),
    tlsSpkiSha256: [],
    sessionId: undefined,
    expiresAtMs: Date.now() + 60_000,
    isCurrent: true,
    notCurrent: [],
    ...verified,
  });
  const client = makePrivateClient(
    platform,
    {
      ...{ apiKey: 'key', controlOrigin, baseOrigin, allowSimulated: true, ticketsAhead: 0, acceptRelayAttacks: true },
      ...options,
    },
    { verifyProvider, fetch: control },
  );
  const ask = (body: object, headers: Record<string, string> = {}): Promise<Response> =>
    fetchOver(client.exchange, baseOrigin)(`${baseOrigin}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
  return {
    ask,
    exchange: client.exchange,
    toControl,
    toBroker,
    verifiedAs: (next: Partial<ProviderVerification>) => {
      verified = next;
    },
    /** Has the broker give no evidence of itself from now on. */
    endEvidence: () => {
      hasEvidence = false;
    },
    relays: (next: Relay) => {
      relay = next;
    },
    /** Has control answer itself at some paths. */
    controls: (next: typeof refuse) => {
      refuse = next;
    },
    /** Sees each sealed request before the enclave does. */
    spies: (next: typeof spy) => {
      spy = next;
    },
    lists: (routes: object[]) => {
      listed = routes;
    },
    chats: () => toBroker.filter(({ path }) => path === '/v1/chat/completions'),
    attestations: () => toBroker.filter(({ path }) => path === '/v1/tee/attestation'),
  };
}
