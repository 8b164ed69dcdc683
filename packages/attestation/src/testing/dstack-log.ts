import type { Bytes } from '../bytes.ts';
import { parseEventLog, replay } from '../dstack/event-log.ts';

/** The parts of a dstack machine's identity that its host chooses. Hex. */
export interface DstackMachine {
  readonly appId: string;
  readonly keyProvider: { readonly name: string; readonly id: string } | undefined;
}

/** The runtime events that a dstack machine of this software and identity logs, and the RTMR3 that they lead to. */
export function dstackLog({
  compose,
  osImage,
  appId,
  keyProvider,
}: DstackMachine & { readonly compose: string; readonly osImage: string }): { log: object[]; rtmr3: Bytes } {
  const event = (name: string, payload = '') => ({
    imr: 3,
    event_type: 0x0800_0001,
    digest: '',
    event: name,
    event_payload: payload,
  });
  const log = [
    event('system-preparing'),
    event('app-id', appId),
    event('compose-hash', compose),
    event('instance-id', '11'.repeat(20)),
    event('boot-mr-done'),
    event('os-image-hash', osImage),
    ...(keyProvider === undefined
      ? []
      : [event('key-provider', Buffer.from(JSON.stringify(keyProvider)).toString('hex'))]),
    event('system-ready'),
  ];
  return { log, rtmr3: Uint8Array.from(replay(parseEventLog(log), 3)) };
}
