import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  fulcioHandler,
  type HandlerFn,
  initializeCA,
  initializeCTLog,
  initializeTLog,
  rekorHandler,
} from '@sigstore/mock';
import { DSSEBundleBuilder, FulcioSigner, MessageSignatureBundleBuilder, RekorWitness } from '@sigstore/sign';
import { type Hash, Leaves, leafHash } from '../log/merkle.ts';

/** A bundle as its file has it. Tests change it. */
// biome-ignore lint/suspicious/noExplicitAny: a mutation may put anything anywhere
export type AnyBundle = any;

const rekorUrl = 'https://rekor.example';

interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

/** Makes a server listen on a free port of 127.0.0.1. Packages start no process and listen nowhere, so the test does it. */
type Listen = (server: Server) => Promise<void>;

/** Who signs. */
interface Signing {
  readonly identity: string;
  readonly issuer: string;
  /** `message` signs the bytes themselves. */
  readonly as?: 'statement' | 'message';
}

/**
 * A Sigstore of the test's own: a certificate authority, its log, and a log of entries, by Sigstore's `@sigstore/mock`
 * behind HTTP. Bundles are made by its signing library, `@sigstore/sign`. The log has other entries besides.
 */
export class PrivateSigstore {
  readonly #handlers: ReadonlyMap<string, HandlerFn>;
  readonly #rekor: KeyPair;
  readonly trustedRoot: object;
  /** Of the entries of the log. */
  readonly leaves: Hash[] = ['first', 'second', 'third'].map((text) => leafHash(new TextEncoder().encode(text)));

  readonly #listen: Listen;

  private constructor(
    { handlers, listen }: { handlers: ReadonlyMap<string, HandlerFn>; listen: Listen },
    rekor: KeyPair,
    trustedRoot: object,
  ) {
    this.#handlers = handlers;
    this.#listen = listen;
    this.#rekor = rekor;
    this.trustedRoot = trustedRoot;
  }

  static async start(now: Date, listen: Listen, { hasCtLog = true } = {}): Promise<PrivateSigstore> {
    const [authority, certificates, rekor] = [ecKey('P-384'), ecKey('P-256'), ecKey('P-256')];
    const ctLog = await initializeCTLog(certificates, now);
    const ca = await initializeCA(authority, hasCtLog ? ctLog : undefined, now);
    const tlog = await initializeTLog(rekorUrl, rekor, now);
    const [fulcio, log] = [fulcioHandler(ca), rekorHandler(tlog)];
    const handlers = new Map([
      [fulcio.path, fulcio.fn],
      [log.path, (body: string) => log.fn(asRekorStores(body))],
    ]);
    const validFor = { start: '2020-01-01T00:00:00Z' };
    const logOf = (baseUrl: string, key: KeyPair) => ({
      baseUrl,
      hashAlgorithm: 'SHA2_256',
      publicKey: { rawBytes: spki(key).toString('base64'), keyDetails: 'PKIX_ECDSA_P256_SHA_256', validFor },
      logId: { keyId: logIdOf(key).toString('base64') },
    });
    return new PrivateSigstore({ handlers, listen }, rekor, {
      mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1',
      tlogs: [logOf(rekorUrl, rekor)],
      certificateAuthorities: [
        {
          subject: { organization: 'sigstore.mock', commonName: 'sigstore' },
          uri: 'https://fulcio.example',
          certChain: { certificates: [{ rawBytes: Buffer.from(ca.rootCertificate as Buffer).toString('base64') }] },
          validFor,
        },
      ],
      ctlogs: [logOf('https://ct.example', certificates)],
      timestampAuthorities: [],
    });
  }

  /** Signs and logs. The inclusion proof is that of the whole log. */
  async sign(payload: string, { identity, issuer, as = 'statement' }: Signing): Promise<AnyBundle> {
    const server = createServer((request, response) => {
      const handler = this.#handlers.get(request.url ?? '');
      request
        .setEncoding('utf8')
        .toArray()
        .then(async (parts) => {
          const answer = (await handler?.(parts.join(''))) ?? { statusCode: 404, response: '' };
          response.writeHead(answer.statusCode, { 'content-type': answer.contentType ?? 'text/plain' });
          response.end(answer.response);
        });
    });
    await this.#listen(server);
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const getToken = async () => `${base64url({ alg: 'none' })}.${base64url({ sub: identity, iss: issuer })}.`;
      const signer = new FulcioSigner({ fulcioBaseURL: url, identityProvider: { getToken }, retry: 0 });
      const witnesses = [new RekorWitness({ rekorBaseURL: url, entryType: 'dsse', retry: 0 })];
      const data = Buffer.from(payload);
      const bundle =
        as === 'message'
          ? await new MessageSignatureBundleBuilder({ signer, witnesses }).create({ data })
          : await new DSSEBundleBuilder({ signer, witnesses }).create({ data, type: 'application/vnd.in-toto+json' });
      const { bundleToJSON } = await import('@sigstore/bundle');
      return this.#withProof(JSON.parse(JSON.stringify(bundleToJSON(bundle))));
    } finally {
      server.close();
    }
  }

  /** The stand-in of Rekor has a log of one entry. This one has others. */
  #withProof(bundle: AnyBundle): AnyBundle {
    const [entry] = bundle.verificationMaterial.tlogEntries;
    this.leaves.push(leafHash(Buffer.from(entry.canonicalizedBody, 'base64')));
    const index = this.leaves.length - 1;
    this.leaves.push(leafHash(new TextEncoder().encode('a later entry')));
    entry.inclusionProof = {
      logIndex: String(index),
      treeSize: String(this.leaves.length),
      rootHash: base64(new Leaves(this.leaves).root),
      hashes: new Leaves(this.leaves).inclusionProof(index).map(base64),
      checkpoint: { envelope: this.checkpoint(this.leaves) },
    };
    return bundle;
  }

  /** The signed checkpoint of a log of these leaves. */
  checkpoint(leaves: readonly Hash[]): string {
    const host = new URL(rekorUrl).host;
    const note = `${host} - 42\n${leaves.length}\n${base64(new Leaves(leaves).root)}\n`;
    const signature = sign('sha256', Buffer.from(note), this.#rekor.privateKey);
    return `${note}\n— ${host} ${Buffer.concat([logIdOf(this.#rekor).subarray(0, 4), signature]).toString('base64')}\n`;
  }
}

const ecKey = (namedCurve: string): KeyPair => generateKeyPairSync('ec', { namedCurve });
const spki = ({ publicKey }: KeyPair): Buffer => publicKey.export({ format: 'der', type: 'spki' });
const sha256 = (bytes: string | Buffer): Buffer => createHash('sha256').update(bytes).digest();
const logIdOf = (key: KeyPair): Buffer => sha256(spki(key));
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Rekor stores only digests of a proposed envelope, which the stand-in of Rekor does not do. */
function asRekorStores(body: string): string {
  const { kind, apiVersion, spec } = JSON.parse(body);
  if (kind !== 'dsse') return body;
  const { envelope, verifiers } = spec.proposedContent;
  const { payload, signatures } = JSON.parse(envelope);
  const digest = (bytes: string | Buffer) => ({ algorithm: 'sha256', value: sha256(bytes).toString('hex') });
  return JSON.stringify({
    kind,
    apiVersion,
    spec: {
      envelopeHash: digest(envelope),
      payloadHash: digest(Buffer.from(payload, 'base64')),
      signatures: [{ signature: signatures[0].sig, verifier: verifiers[0] }],
    },
  });
}
