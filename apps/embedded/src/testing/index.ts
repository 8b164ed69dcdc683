/**
 * The PostgreSQL of `npm start`, for tests. It loads neither plane. Its export has no condition, because vitest's global
 * set-up resolves packages without ours.
 */
export { startPostgres } from '../postgres/start-postgres.ts';
