import { readJsonBody } from '@sotto/http';
import { billingPageQuerySchema, createOrderSchema, type OrderAnswer, parseRequest, ServiceError } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import { requireSession, type SessionDependencies } from '../../credentials/session-credentials.ts';
import { toOrderAnswer } from './order-record.ts';
import { findOrder, listOrders } from './order-store.ts';
import { type PlaceDependencies, placeOrder } from './place-order.ts';
import { hurryCheck } from './reconcile.ts';

export interface OrderRoutesDependencies {
  readonly sessions: SessionDependencies;
  readonly orders: PlaceDependencies;
}

const uuidPattern = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** `/v1/billing/orders` (interface 4.5, design 6 "orders"). By session, each for its own account. */
export function registerOrders(app: FastifyInstance, { sessions, orders }: OrderRoutesDependencies): void {
  const { pool } = sessions;

  app.post('/v1/billing/orders', async (request, reply): Promise<OrderAnswer> => {
    const { accountId } = await requireSession(sessions, request);
    const asked = parseRequest(createOrderSchema, readJsonBody(request.body));
    if (asked.save_card === true && asked.rail !== 'card') {
      throw new ServiceError('invalid_request', {
        message: '`save_card` goes with the rail `card` only.',
        param: 'save_card',
      });
    }
    const order = await placeOrder(orders, {
      accountId,
      packageId: asked.package_id,
      rail: asked.rail,
      saveCard: asked.save_card ?? false,
    });
    reply.code(201).header('cache-control', 'no-store').header('location', `/v1/billing/orders/${order.id}`);
    return toOrderAnswer(order);
  });

  app.get('/v1/billing/orders', async (request, reply) => {
    const { accountId } = await requireSession(sessions, request);
    const query = parseRequest(billingPageQuerySchema, request.query);
    reply.header('cache-control', 'no-store');
    return listOrders(pool, accountId, query);
  });

  app.get<{ Params: { orderId: string } }>('/v1/billing/orders/:orderId', async (request, reply) => {
    const { accountId } = await requireSession(sessions, request);
    const { orderId } = request.params;
    const order = uuidPattern.test(orderId) ? await findOrder(pool, accountId, orderId) : undefined;
    if (order === undefined) throw new ServiceError('not_found', { message: 'This account has no such order.' });
    if (order.status === 'pending') await hurryCheck(pool, order.id, new Date(orders.now()));
    reply.header('cache-control', 'no-store');
    return toOrderAnswer(order);
  });
}
