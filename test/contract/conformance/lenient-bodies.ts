import { describe, expect, it } from 'vitest';
import { ask, flows, hello } from '../../kit/client.ts';
import type { Concept } from '../../kit/conformance.ts';
import { expectError } from '../../kit/expect-error.ts';

const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };

/** Tests bodies that real clients send although OpenAI's schema does not allow them. The service accepts them. */
export const lenientBodies: Concept = (suite) => {
  const key = (): string => suite.account.inferenceKey;

  describe.each(flows)('bodies of real clients, %s flow', (flow) => {
    const askFor = (body: object) => ask(suite.service, key(), { model: 'acme/seeing', ...body }, { flow });
    const sentFor = async (body: object) => {
      const answer = await askFor(body);
      expect(answer.status, answer.text).toBe(200);
      return suite.lastSeen().body;
    };

    it('a tool without a type is a function', async () => {
      const sent = await sentFor({ messages: hello, tools: [{ function: { name: 'look', parameters: {} } }] });
      expect(sent.tools).toEqual([{ type: 'function', function: { name: 'look', parameters: {} } }]);
    });

    it('null means that a field is absent', async () => {
      const sent = await sentFor({
        messages: [
          { role: 'user', content: [{ ...image, image_url: { ...image.image_url, detail: null } }], name: null },
          { role: 'assistant', content: 'Seen.', tool_calls: null, name: null },
          ...hello,
        ],
        tools: [{ type: 'function', function: { name: 'look', description: null, parameters: null, strict: null } }],
        response_format: { type: 'json_schema', json_schema: { name: 'x', description: null, schema: {} } },
      });
      expect(JSON.stringify(sent)).not.toContain('null');
    });

    it('empty lists mean that a field is absent, too', async () => {
      const { messages } = await sentFor({
        messages: [
          ...hello,
          { role: 'assistant', content: [], tool_calls: [call] },
          { role: 'tool', tool_call_id: 'call_1', content: 'dark' },
          { role: 'assistant', content: 'It is dark.', tool_calls: [] },
          ...hello,
        ],
      });
      expect(messages).toEqual([
        ...hello,
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: 'dark' },
        { role: 'assistant', content: 'It is dark.' },
        ...hello,
      ]);
    });

    it('`reasoning.summary` is accepted', async () => {
      await sentFor({ messages: hello, reasoning: { summary: 'auto' } });
    });

    it('images in tool results reach the model as images', async () => {
      const { messages } = await sentFor({
        messages: [
          ...hello,
          { role: 'assistant', content: null, tool_calls: [call, { ...call, id: 'call_2' }] },
          { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: 'a screenshot' }, image] },
          { role: 'tool', tool_call_id: 'call_2', content: [image] },
          ...hello,
        ],
      });
      expect((messages as object[]).slice(2)).toEqual([
        { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: 'a screenshot' }] },
        { role: 'tool', tool_call_id: 'call_2', content: expect.stringContaining('image') },
        { role: 'user', content: [{ type: 'text', text: expect.any(String) }, image, image] },
        ...hello,
      ]);
    });

    it('an image in a tool result needs a model with vision', async () => {
      const result = { role: 'tool', tool_call_id: 'call_1', content: [image] };
      const messages = [...hello, { role: 'assistant', content: null, tool_calls: [call] }, result];
      expectError(await askFor({ model: 'acme/small', messages }), 400, 'no_provider_route');
    });

    it.each([
      ['file', { type: 'file', file: { file_data: 'data:application/pdf;base64,AA' } }],
      ['audio', { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }],
      ['video', { type: 'video_url', video_url: { url: 'https://files.example/a.mp4' } }],
    ])('a part with %s is rejected, and the error lists the supported parts', async (_, part) => {
      const answer = await askFor({ messages: [{ role: 'user', content: [part] }] });
      expectError(answer, 400, 'invalid_request', 'messages.0.content.0.type');
      expect(answer.text).toMatch(/`text` or `image_url`.*files, audio and video are not supported/);
      expect(suite.asked).toBe(0);
    });

    it('modalities other than text are rejected', async () => {
      const sent = await sentFor({ messages: hello, modalities: ['text'] });
      expect(sent).not.toHaveProperty('modalities');
      const refused = await askFor({ messages: hello, modalities: ['text', 'audio'] });
      expectError(refused, 400, 'invalid_request', 'modalities.1');
    });
  });
};
