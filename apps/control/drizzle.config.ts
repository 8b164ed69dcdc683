import { defineConfig } from 'drizzle-kit';

/** drizzle-kit compares the schema with the newest snapshot, so `migrations/meta` keeps only that one. */
export default defineConfig({
  dialect: 'postgresql',
  schema: [
    './src/database/schema.ts',
    './src/database/auth-schema.ts',
    './src/database/billing-schema.ts',
    './src/database/connect-schema.ts',
    './src/database/usage-schema.ts',
    './src/database/workspace-schema.ts',
    './src/database/administration-schema.ts',
    './src/database/wallet-schema.ts',
    './src/database/provisioning-schema.ts',
  ],
  out: './migrations',
});
