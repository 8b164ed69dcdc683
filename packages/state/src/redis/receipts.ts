import { assertReceipt } from '../bounds.ts';
import type { ReceiptPort } from '../ports.ts';
import type { ScriptRunner } from './script-runner.ts';

const keyOf = (kind: string, id: string): string => `sotto:receipt:${kind}:${id}`;

export function redisReceipts(runner: ScriptRunner): ReceiptPort {
  return {
    async keepReceipt(kind, id, document, ttlMs) {
      assertReceipt({ id, document, ttlMs });
      await runner.plain((redis) => redis.set(keyOf(kind, id), document, 'PX', ttlMs));
    },
    async readReceipt(kind, id) {
      return (await runner.plain((redis) => redis.get(keyOf(kind, id)))) ?? undefined;
    },
  };
}
