import { createReadStream, createWriteStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { DallEAPIWrapper } from '@langchain/openai';
import { generateImage, generateSpeech } from 'ai';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { useFolder } from '../../kit/folder.ts';
import { type ClientWorld, imageModel, openAiClients, picture, privateFetchOf, spoken, voiceModel } from './world.ts';

const streamToFile = ({ body }: Response, file: string): Promise<void> =>
  pipeline(Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]), createWriteStream(file));

/** Tests images and speech written to files, as users of each client do it. Media has no compatibility mode. */
export function mediaSuite(world: ClientWorld): void {
  const folder = useFolder('media');
  const byTicket = () => privateFetchOf(world);
  const { 'compatibility mode': openaiByKey, 'the ticket flow': openai } = openAiClients(world);
  const input = 'Say “this”, 🎵!';

  describe('openai, media', () => {
    it('writes an image to a file', async () => {
      const answer = await openai().images.generate({ model: imageModel, prompt: 'a cat', size: '1024x1024' });
      const file = join(folder, 'openai.png');
      await writeFile(file, Buffer.from(answer.data?.[0]?.b64_json ?? '', 'base64'));
      expect((await readFile(file)).equals(picture)).toBe(true);
      expect(answer.created).toBeGreaterThan(1_700_000_000);
    });

    it('streams speech to a file', async () => {
      const answer = await openai().audio.speech.create({ model: voiceModel, voice: 'alloy', input });
      expect(answer.headers.get('content-type')).toBe('audio/mpeg');
      const file = join(folder, 'openai.mp3');
      await streamToFile(answer, file);
      expect((await readFile(file)).equals(spoken(input))).toBe(true);
      expect(world.provider.seen.at(-1)?.body).toMatchObject({ voice: 'alloy', input, response_format: 'mp3' });
    });

    it('throws if audio breaks off, whichever way it is read', async () => {
      const broken = () => openai().audio.speech.create({ model: voiceModel, voice: 'alloy', input: 'break off' });
      await expect((await broken()).arrayBuffer()).rejects.toThrow();
      await expect(streamToFile(await broken(), join(folder, 'broken.mp3'))).rejects.toThrow();
    });

    it('gets an error that asks for a ticket if it sends a key', async () => {
      const client = openaiByKey();
      for (const asked of [
        () => client.images.generate({ model: imageModel, prompt: 'a cat' }),
        () => client.audio.speech.create({ model: voiceModel, voice: 'alloy', input }),
      ]) {
        const error = await asked().then(
          () => undefined,
          (failure: unknown) => failure,
        );
        expect(error).toBeInstanceOf(OpenAI.AuthenticationError);
        expect(error).toMatchObject({ type: 'ticket_required' });
      }
    });
  });

  describe('ai, media', () => {
    it.each([
      ['openai', () => createOpenAI({ baseURL: world.service.baseUrl, apiKey: 'never-sent', fetch: byTicket() })],
      [
        'openai-compatible',
        () => createOpenAICompatible({ name: 'sotto', baseURL: world.service.baseUrl, fetch: byTicket() }),
      ],
    ] as const)('writes an image to a file (%s)', async (name, connect) => {
      const model = connect().imageModel(imageModel);
      const { image } = await generateImage({ model, prompt: 'a cat', size: '512x512', maxRetries: 0 });
      expect(image.mediaType).toBe('image/png');
      const file = join(folder, `ai-${name}.png`);
      await writeFile(file, image.uint8Array);
      expect((await readFile(file)).equals(picture)).toBe(true);
      expect(world.provider.seen.at(-1)?.body).toMatchObject({ prompt: 'a cat', size: '512x512' });
    });

    it('writes speech to a file', async () => {
      const model = createOpenAI({
        baseURL: world.service.baseUrl,
        apiKey: 'never-sent',
        fetch: byTicket(),
      }).speech(voiceModel);
      const { audio } = await generateSpeech({ model, text: input, voice: 'nova', maxRetries: 0 });
      const file = join(folder, 'ai.mp3');
      await writeFile(file, audio.uint8Array);
      const pieces: Buffer[] = [];
      for await (const piece of createReadStream(file)) pieces.push(piece as Buffer);
      expect(Buffer.concat(pieces).equals(spoken(input))).toBe(true);
    });
  });

  it('langchain: its image tool returns the image', async () => {
    // The class has no `fetch` option, so a subclass replaces its client.
    class PaintByTicket extends DallEAPIWrapper {
      constructor() {
        super({ model: imageModel, size: '1024x1024', dallEResponseFormat: 'b64_json', openAIApiKey: 'never-sent' });
        this.client = openai();
      }
    }
    const base64 = await new PaintByTicket().invoke('a cat');
    expect(Buffer.from(String(base64), 'base64').equals(picture)).toBe(true);
  });
}
