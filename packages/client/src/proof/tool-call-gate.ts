import { parseExact } from '@sotto/dialects';
import { asObject, sseDone, sseFrame } from '@sotto/wire';
import { isOnlyShown } from './shown-fields.ts';

/**
 * Lets the events of a streamed chat pass until the first that could call a tool. That one and all that follow are held.
 *
 * It writes each event anew from what it has read. Text with two fields of one name, or with an event in an event, could mean
 * something else to another reader.
 */
export class ToolCallGate {
  #held: string[] = [];
  #isFailed = false;

  /** Whether something waits for the proof. */
  get holds(): boolean {
    return this.#held.length > 0;
  }

  /** Takes the data of one event. Returns the text that may go on now. */
  take(event: string): string {
    if (this.#isFailed) return '';
    const isDone = event === '[DONE]';
    const chunk = isDone ? undefined : asObject(parseExact(event));
    if (chunk?.error != null) {
      // The answer failed. Its tool calls are not whole.
      this.#isFailed = true;
      this.#held = [];
      return sseFrame(JSON.stringify({ error: chunk.error }));
    }
    const text = isDone ? sseDone : sseFrame(chunk === undefined ? event : JSON.stringify(chunk));
    if (!this.holds && (isDone || (chunk !== undefined && isOnlyShown(chunk)))) return text;
    this.#held.push(text);
    return '';
  }

  /** Returns what was held. */
  release(): string {
    return this.#held.splice(0).join('');
  }
}
