import { describe, expect, it } from 'vitest';
import { allOf } from '../../kit/answer.ts';
import { usageRows } from '../../kit/books.ts';
import { ask, type Flow } from '../../kit/client.ts';
import { post } from '../../kit/send.ts';
import { until } from '../../kit/service.ts';
import { found } from './disguises.ts';
import { expectNoContent } from './expect-no-content.ts';
import { content, formsOf, fullBody, media, mediaPaths, said } from './markers.ts';
import { answersWell, delta, failures, painted } from './provider-answers.ts';
import type { StageOf } from './stage.ts';

export const flows: readonly Flow[] = ['compatibility', 'ticket'];

/** Every operation, both successful and failed. */
export function contentSuite(stage: StageOf): void {
  describe('no sink holds content', () => {
    it.each(flows)('after answers of every kind (%s)', async (flow) => {
      stage().onAll(answersWell);
      const before = await usageRows(stage().service, stage().account);
      const good = [
        await stage().ask(flow, fullBody()),
        await stage().ask(flow, fullBody({ stream: true, stream_options: { include_usage: true } })),
        await stage().ask(
          flow,
          { model: 'm/embed', input: [content.Embedding], user: content.User },
          { path: '/embeddings' },
        ),
      ];
      for (const { complete, text } of good) {
        expect(complete, text).toBe(true);
        // The provider's own ids and headers must not reach clients.
        expect(text).not.toContain(said.ProviderId);
      }
      expect(good[0]?.text).toContain(said.Answer);
      expect(good[1]?.text).toContain(said.ToolArguments);
      // A client that leaves in the middle.
      stage().onAll((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(delta({ content: said.Answer }));
      });
      await stage().ask(flow, fullBody({ stream: true }), { leaveWhen: (text) => text.includes(said.Answer) });
      await until(
        async () => (await usageRows(stage().service, stage().account)).length >= before.length + 4,
        'all is booked',
      );
      await expectNoContent(stage());
    });

    it.each(flows)('after an answer of a provider without TLS, in a private network (%s)', async (flow) => {
      stage().onAll(answersWell);
      const before = stage().second.seen.length;
      const answered = await stage().ask(flow, fullBody({ model: 'm/near' }));
      expect(answered.text).toContain(said.Answer);
      expect(stage().second.seen.length).toBe(before + 1);
      await expectNoContent(stage());
    });

    it('after images and speech', async () => {
      stage().onAll(answersWell);
      const before = await usageRows(stage().service, stage().account);
      const [image, speech] = [await stage().askMedia('/images/generations'), await stage().askMedia('/audio/speech')];
      expect(image.text).toContain(painted);
      expect(image.text).not.toContain(said.ErrorText);
      expect(speech).toMatchObject({ status: 200, text: said.Spoken, ended: 'answered' });
      expect(allOf(image) + allOf(speech)).not.toContain(said.ProviderHeader);
      // A client that leaves in the middle, an answer that breaks off, and a ticket that is for another text.
      stage().onAll((_request, response) => {
        response.writeHead(200, { 'content-type': 'audio/mpeg' });
        response.write(said.Spoken);
      });
      await stage().askMedia('/audio/speech', { leaveWhen: (text) => text.includes(said.Spoken) });
      expect((await stage().askMedia('/audio/speech')).ended).toBe('broken');
      const other = { 'x-router-ticket': (await stage().buy({ model: 'm/voice', input_chars: 1 })) ?? '' };
      const differs = await stage().keep(
        post(`${stage().service.baseUrl}/audio/speech`, media['/audio/speech'], other),
      );
      expect(differs.error?.type).toBe('ticket_media_mismatch');
      await until(
        async () => (await usageRows(stage().service, stage().account)).length >= before.length + 4,
        'all is booked',
      );
      await expectNoContent(stage());
    });

    it.each(failures)('after a provider failed by %s', async (_name, failure) => {
      stage().onAll(failure);
      await Promise.all(
        flows.flatMap((flow) =>
          ['m/one', 'm/two'].flatMap((model) => [
            stage().ask(flow, fullBody({ model })),
            stage().ask(flow, fullBody({ model, stream: true })),
          ]),
        ),
      );
      const input = { model: 'm/embed', input: content.Embedding };
      await stage().keep(ask(stage().service, stage().account.inferenceKey, input, { path: '/embeddings' }));
      await Promise.all(mediaPaths.map((path) => stage().askMedia(path)));
      // The provider's own words appear nowhere but in an answer.
      const bodies = stage()
        .answers.filter(({ complete }) => !complete)
        .map(({ text }) => text);
      const { Answer: _, Painted: __, Spoken: ___, ...notForClients } = said;
      expect(found(bodies.join('\n'), formsOf(notForClients))).toEqual([]);
    });
  });
}
