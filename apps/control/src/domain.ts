import type { Task } from '@sotto/server';
import type { FastifyInstance } from 'fastify';
import type { Serve, ServeDependencies } from './serve/serve.ts';

/** The context in which a domain registers its routes. */
export interface RouteContext extends Omit<ServeDependencies, 'limits'> {
  readonly app: FastifyInstance;
  readonly serve: Serve;
}

/** A part of control. Each has a `build…(deps)` function. The wiring registers its routes and runs its tasks. */
export interface Domain {
  register?(context: RouteContext): void | Promise<void>;
  /** Returns its periodic tasks. `failed` takes a task’s name and returns its error listener. */
  tasks?(failed: (task: string) => (error: unknown) => void): readonly Task[];
}
