import { type EnclaveKey, sealChat } from '@sotto/client';
import { vouchForKey } from '@sotto/client/testing';

/**
 * An enclave's key in the form that the page receives: the bytes are an array, which survives the way into the page.
 */
export type GivenKey = Omit<EnclaveKey, 'publicKey'> & { readonly publicKey: readonly number[] };

/** Runs in the page: holds one conversation with the stand-in at `path`. Returns the text that a user would see. */
export async function converse(path: string, given: GivenKey, stream: boolean): Promise<string> {
  const key = vouchForKey({ ...given, publicKey: new Uint8Array(given.publicKey) } as EnclaveKey);
  const messages = [{ role: 'user', content: 'Grüße, 世界' }];
  const sealed = await sealChat(key, { model: 'acme/small', messages, stream });
  const answer = await fetch(path, { method: 'POST', headers: sealed.headers, body: sealed.body });
  if (answer.status !== 200 || answer.body === null) throw new Error(`status ${answer.status}`);
  if (!stream) return sealed.openWhole(answer.headers, new Uint8Array(await answer.arrayBuffer()));
  return new Response(answer.body.pipeThrough(sealed.openStream(answer.headers))).text();
}

Object.assign(globalThis, { converse });
