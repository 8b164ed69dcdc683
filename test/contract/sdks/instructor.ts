import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import createInstructor from '@instructor-ai/instructor';
import { describe, expect, it } from 'vitest';
// Instructor needs schemas of zod 3.
import { z } from 'zod/v3';
import { startProvider } from '../../kit/provider.ts';
import { answer, breakOff, type ClientWorld, cities, chatModel as model, openAiClients, weather } from './world.ts';

const messages = [{ role: 'user' as const, content: 'weather?' }];
const program = fileURLToPath(new URL('instructor-program.mjs', import.meta.url));
const report = { name: 'report', schema: z.object({ city: z.string(), degrees: z.number() }) };

/** Tests Instructor, which wraps the `openai` SDK and returns typed objects, in both flows. */
export function instructorSuite(world: ClientWorld): void {
  describe.each(Object.entries(openAiClients(world)))('@instructor-ai/instructor, in %s', (_, connect) => {
    it('gives an object, by JSON', async () => {
      const client = createInstructor({ client: connect(), mode: 'JSON' });
      const answer = await client.chat.completions.create({ model, messages, response_model: report });
      expect(answer).toMatchObject({ city: 'Graz', degrees: 21 });
      expect(world.provider.seen.at(-1)?.body.response_format).toEqual({ type: 'json_object' });
    });

    it('gives an object, by a tool call', async () => {
      const client = createInstructor({ client: connect(), mode: 'TOOLS' });
      const response_model = { name: weather.name, schema: z.object({ city: z.string() }) };
      const answer = await client.chat.completions.create({ model, messages, response_model });
      expect(answer).toMatchObject({ city: cities[0] });
      expect(world.provider.seen.at(-1)?.body.tool_choice).toMatchObject({ function: { name: weather.name } });
    });

    it('streams an object as it grows', async () => {
      const client = createInstructor({ client: connect(), mode: 'JSON' });
      const stream = await client.chat.completions.create({ model, messages, response_model: report, stream: true });
      let last: unknown;
      for await (const partial of stream) last = partial;
      expect(last).toMatchObject({ city: 'Graz', degrees: 21 });
    });

    it('fails as the client under it does', async () => {
      const client = createInstructor({ client: connect(), mode: 'JSON' });
      const failed = client.chat.completions.create({ model: 'acme/nothing', messages, response_model: report });
      await expect(failed).rejects.toMatchObject({ status: 404, code: 'model_not_found' });
    });
  });

  it('@instructor-ai/instructor ends the whole program at a stream that breaks off, as straight at the provider', async () => {
    const endAt = (...place: readonly string[]) =>
      new Promise((resolve) => {
        execFile(process.execPath, [program, ...place, breakOff], { timeout: 30_000 }, (error, stdout) =>
          resolve({ code: error?.code, stdout }),
        );
      });
    // The world's own provider keeps what the service sends it.
    const provider = await startProvider(answer);
    const straight = await endAt(provider.baseUrl, 'key', 'small-v1').finally(() => provider.stop());
    const through = await endAt(world.service.baseUrl, world.inferenceKey, model);
    // The loop over the pieces neither ends nor throws. The error is a rejection that a program cannot handle.
    expect([straight, through]).toEqual(Array(2).fill({ code: 1, stdout: 'begins\n' }));
  });
}
