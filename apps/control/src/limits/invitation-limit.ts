import { hashSecret } from '@sotto/state';
import type { FastifyInstance } from 'fastify';
import { type AttemptLimit, attemptLimit } from './attempt-limit.ts';

/** Limits the invitations that are mailed to one address, whoever invites it: a part of RATE_LIMIT_CONTROL. */
export function invitationLimit(app: FastifyInstance, control: number): AttemptLimit {
  const byAddress = attemptLimit(app, { prefix: 'invite', max: Math.ceil(control / 120), windowMs: 15 * 60_000 });
  return (request, email) => byAddress(request, hashSecret(email));
}
