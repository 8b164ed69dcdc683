import type { Task } from '@sotto/server';
import type { FastifyInstance } from 'fastify';
import type { DueWork } from './database/due-work.ts';
import type { Serve, ServeDependencies } from './serve/serve.ts';

export interface RouteContext extends Omit<ServeDependencies, 'limits'> {
  readonly app: FastifyInstance;
  readonly serve: Serve;
}

/** A part of control. Each has a `build…(deps)` function. The wiring registers its routes and runs its tasks. */
export interface Domain {
  register?(context: RouteContext): void | Promise<void>;
  /**
   * Returns its tasks: those that run at intervals (`repeat`), and those that run when Postgres has something for them (`due.when`).
   * `failed` takes a task’s name and returns its error listener.
   */
  tasks?(failed: (task: string) => (error: unknown) => void, due: DueWork): readonly Task[];
}
