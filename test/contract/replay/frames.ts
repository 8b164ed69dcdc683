import { bedrockEvent } from '../../kit/dialects/event-stream.ts';
import type { Recording } from './recordings.ts';

/** A recorded stream in the framing of its API, an event a frame. */
export function framesOf({ api, events = [] }: Recording): Buffer[] {
  switch (api) {
    case 'openai':
      return [...events, '[DONE]'].map((payload) => Buffer.from(`data: ${payload}\n\n`));
    case 'anthropic':
      return events.map((payload) => {
        const { type } = JSON.parse(payload) as { type: string };
        return Buffer.from(`event: ${type}\ndata: ${payload}\n\n`);
      });
    case 'google':
      return events.map((payload) => Buffer.from(`data: ${payload}\r\n\r\n`));
    case 'bedrock':
      return events.flatMap((payload) =>
        Object.entries(JSON.parse(payload) as Record<string, object>).map(([type, event]) => bedrockEvent(type, event)),
      );
    default:
      return api satisfies never;
  }
}
