import { type Keys, seal, unseal } from './sealing.ts';

/** The owner of a request. Only control can read it. */
export interface AccountRef {
  readonly accountId: string;
  readonly workspaceId: string;
  readonly keyId: string;
  /** The tag that the key had when the request was admitted. Undefined: none. */
  readonly tagId?: string | undefined;
}

const purpose = 'sotto account ref v1';
const order = ['accountId', 'workspaceId', 'keyId', 'tagId'] as const;
const noTag = '00000000-0000-0000-0000-000000000000';

/** Encrypts the owner of a request for control. The result has a fixed length and differs each time. Ids are UUIDs. */
export function sealAccountRef(key: Buffer, ref: AccountRef): string {
  const ids = order.map((name) => Buffer.from((ref[name] ?? noTag).replaceAll('-', ''), 'hex'));
  return seal(key, Buffer.concat(ids), purpose).toString('base64url');
}

/** Decrypts a reference. Returns undefined if none of these keys encrypted it. */
export function openAccountRef(keys: Keys, text: string): AccountRef | undefined {
  const body = unseal(keys, Buffer.from(text, 'base64url'), purpose);
  if (body?.length !== 64) return undefined;
  const uuid = (at: number): string =>
    body.toString('hex', at, at + 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  const [tagId, owner] = [uuid(48), { accountId: uuid(0), workspaceId: uuid(16), keyId: uuid(32) }];
  return tagId === noTag ? owner : { ...owner, tagId };
}
