import * as z from 'zod';
import { type Contract, contracts } from '../contract.ts';
import { anywhere, ofBodies } from '../errors.ts';
import { json } from '../route.ts';

/** Answer to a payment service about an event with a valid signature. */
export const webhookOutcomeSchema = z.strictObject({
  received: z.literal(true),
  outcome: z.enum(['applied', 'unchanged', 'flagged', 'ignored', 'unknown_order']),
  message: z.string(),
});
export type WebhookAnswer = z.infer<typeof webhookOutcomeSchema>;

const webhook = (service: string, rail: string, header: string) =>
  ({
    operationId: `receive${service.replace(/\W/g, '')}Event`,
    summary: `Receive an event of ${service}`,
    description: `For ${service} only. Every event with a valid signature gets 200 and an explanation.`,
    credentials: [],
    headers: { [header]: { description: `Signature by ${service}.`, required: true, type: 'string' } },
    otherBodies: [json({ type: 'object', description: `An event in the format of ${service}.` })],
    returns: `The effect of the event on its order (rail \`${rail}\`).`,
    answer: webhookOutcomeSchema,
    errors: [...anywhere, ...ofBodies, 'rail_disabled'],
  }) satisfies Contract;

/** The routes that payment services call. */
export const webhookContracts = contracts({
  'POST /v1/billing/webhooks/stripe': webhook('Stripe', 'card', 'stripe-signature'),
  'POST /v1/billing/webhooks/btcpay': webhook('BTCPay Server', 'crypto', 'btcpay-sig'),
});
