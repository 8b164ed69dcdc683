/** Apart from `postgres.ts`, which the global set-up loads without our packages. It takes half a second, and most files copy a database. */
export { migrateDatabase } from '@sotto/control/migrate';
