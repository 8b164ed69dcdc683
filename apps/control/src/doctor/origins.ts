import { randomBytes } from 'node:crypto';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { type Address, connectTo } from '../connect-to.ts';
import { type Finding, ok, reasonOf, warning, wrong } from './check.ts';

const timeoutMs = 5000;
const variables = {
  control: { origin: 'CONTROL_ORIGIN', address: 'CONTROL_ADDRESS' },
  broker: { origin: 'CONFIDENTIAL_ORIGIN', address: 'CONFIDENTIAL_ADDRESS' },
} as const;

/** Checks that a plane answers at its public address and is ready. */
export async function examineOrigin(
  subject: keyof typeof variables,
  origin: string,
  address?: Address,
): Promise<Finding> {
  const variable = variables[subject].origin;
  const at = address === undefined ? origin : `${origin} (asked at ${address.hostname}:${address.port})`;
  try {
    return judge(await statusOf(origin, '/readyz', address), { subject, at, variable });
  } catch (error) {
    const reason = reasonOf(error);
    if (subject === 'broker' && reason === 'DEPTH_ZERO_SELF_SIGNED_CERT') return examineSelfSigned(origin, address, at);
    return wrong(subject, `does not answer at ${at} (${reason})`, adviceFor(reason, subject, address));
  }
}

function judge(
  status: number,
  { subject, at, variable }: { readonly subject: string; readonly at: string; readonly variable: string },
): Finding {
  if (status === 200) return ok(subject, `is ready at ${at}`);
  return status === 503
    ? wrong(subject, `is not ready at ${at}`, 'The lines above or its log name the cause.')
    : wrong(
        subject,
        `${at} answers with status ${status}, so it is another service`,
        `Correct ${variable}, or point the proxy in front of it to the right process.`,
      );
}

/** Clients that verify evidence accept a broker's own certificate. Without evidence, no client does. */
async function examineSelfSigned(origin: string, address: Address | undefined, at: string): Promise<Finding> {
  const unverified = { rejectUnauthorized: false };
  const nonce = randomBytes(32).toString('hex');
  const [ready, evidence] = await Promise.all(
    ['/readyz', `/v1/gateway/attestation?nonce=${nonce}`].map((path) =>
      statusOf(origin, path, address, unverified).catch(() => 0),
    ),
  );
  if (ready !== 200) return judge(ready ?? 0, { subject: 'broker', at, variable: 'CONFIDENTIAL_ORIGIN' });
  const advice =
    'For plain SDKs, let an authority sign its request (docs/operate/compose.md#tls-for-the-broker). With Docker Compose, `docker compose logs certificate` shows what is missing.';
  return evidence === 200
    ? warning('broker', `is ready at ${at}, with a certificate of its own, which only verifying clients accept`, advice)
    : wrong('broker', `has a certificate of its own at ${at}, and no evidence: no client accepts it`, advice);
}

/** Returns how to fix a connection that failed for this reason. */
function adviceFor(reason: string, subject: keyof typeof variables, address: Address | undefined): string {
  const { origin, address: variable } = variables[subject];
  const asked = address === undefined ? origin : variable;
  switch (reason) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The name of ${asked} has no address here: add it to DNS.`;
    case 'ECONNREFUSED':
      return `Nothing listens there: check that it runs, that its port is published, and ${asked}.`;
    case 'ETIMEDOUT':
    case 'TimeoutError':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `No connection comes about: open the port, and check where the name of ${asked} leads. If clients do reach it, set ${variable}.`;
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `The certificate there is for another name: check ${asked}, and what stands before it.`;
    case 'CERT_HAS_EXPIRED':
      return 'Its certificate has expired: the log of its ACME client says why it was not renewed.';
    case 'EPROTO':
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'ECONNRESET':
      return `The service there does not answer TLS for this name: check ${asked}, and the proxy before it.`;
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return 'Its certificate is of no authority that this machine knows. If it is your own, set NODE_EXTRA_CA_CERTS here and on clients.';
    default:
      return `Check ${origin}, that it runs, and its certificate.`;
  }
}

/** Sends one GET. Follows no redirect. */
export function statusOf(
  origin: string,
  path: string,
  address: Address | undefined,
  tls: { readonly rejectUnauthorized?: boolean } = {},
): Promise<number> {
  const url = new URL(path, origin);
  const options = { ...connectTo(url, address), ...tls, agent: false, signal: AbortSignal.timeout(timeoutMs) };
  return new Promise((resolve, reject) => {
    const read = (answer: IncomingMessage): void => {
      resolve(answer.statusCode ?? 0);
      answer.destroy();
    };
    const asked = url.protocol === 'https:' ? httpsRequest(url, options, read) : httpRequest(url, options, read);
    asked.on('error', (error) => reject(error.name === 'AbortError' ? timedOut : error));
    asked.end();
  });
}

const timedOut = Object.assign(new Error('no answer in time'), { name: 'TimeoutError', code: 'TimeoutError' });
