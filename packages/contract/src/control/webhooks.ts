import { webhookOutcomeSchema } from '@sotto/wire';
import { anywhere, ofBodies } from '../errors.ts';
import { json, type RouteDescription } from '../route.ts';

const tag = 'Billing';
const webhook = (service: string, rail: string, header: string): RouteDescription => ({
  method: 'post',
  path: `/v1/billing/webhooks/${service.toLowerCase().replace(/ .*/, '')}`,
  operationId: `receive${service.replace(/\W/g, '')}Event`,
  tag,
  summary: `Deliveries of ${service}`,
  description: `For ${service} alone, signed with the secret of the webhook. Whatever carries a good signature is answered 200 and an explanation.`,
  credentials: [],
  headers: { [header]: { description: `The signature of ${service}.`, required: true, type: 'string' } },
  body: { content: [json({ type: 'object', description: `An event, as ${service} writes it.` })] },
  answers: [
    {
      status: 200,
      description: `What the event did to the order it is about (rail \`${rail}\`).`,
      content: [json(webhookOutcomeSchema)],
    },
  ],
  errors: [...anywhere, ...ofBodies, 'rail_disabled'],
});

/** The routes that payment services call. */
export const webhookRoutes: readonly RouteDescription[] = [
  webhook('Stripe', 'card', 'stripe-signature'),
  webhook('BTCPay Server', 'crypto', 'btcpay-sig'),
];
