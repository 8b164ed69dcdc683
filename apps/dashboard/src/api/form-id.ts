/** A `form_id`: 128 random bits. Not `crypto.randomUUID`, which browsers have over https and on localhost alone. */
export const newFormId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
