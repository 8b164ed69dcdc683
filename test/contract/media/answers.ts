import { type ProviderHandler, sendJson } from '../../kit/provider.ts';

/** The bytes of a small image, and its base64. */
export const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(1000, 7)]);

/** Answers with an image in OpenAI's shape, with fields that must not leak. */
export const answerImage =
  (image: Buffer = png): ProviderHandler =>
  (_request, response) =>
    sendJson(
      response,
      200,
      { created: 1, model: 'own-name', data: [{ b64_json: image.toString('base64'), revised_prompt: 'OWN-PROMPT' }] },
      { 'x-own-header': 'own-name' },
    );

/** Returns some bytes as audio. They must arrive unchanged. */
export const audio = (bytes = 5000): Buffer =>
  Buffer.from(Uint8Array.from({ length: bytes }, (_, i) => (i * 31) % 256));

export const answerSpeech =
  (bytes: Buffer = audio(), pieces = 5): ProviderHandler =>
  async (_request, response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg', 'x-own-header': 'own-name' });
    const size = Math.ceil(bytes.length / pieces);
    for (let at = 0; at < bytes.length && !response.destroyed; at += size) {
      if (!response.write(bytes.subarray(at, at + size))) await onceDrained(response);
    }
    response.end();
  };

/** Sends one piece, then repeats another for as long as the client reads. */
export const answerEndlessly =
  (type: string, first: Buffer, more: Buffer): ProviderHandler =>
  async (_request, response) => {
    response.writeHead(200, { 'content-type': type });
    response.write(first);
    while (!response.destroyed) if (!response.write(more)) await onceDrained(response);
  };

const onceDrained = (response: Parameters<ProviderHandler>[1]): Promise<void> =>
  new Promise((resolve) => {
    const over = (): void => {
      response.off('drain', over).off('close', over);
      resolve();
    };
    response.on('drain', over).on('close', over);
  });
