import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'postgresql',
  schema: [
    './src/database/schema.ts',
    './src/database/auth-schema.ts',
    './src/database/billing-schema.ts',
    './src/database/connect-schema.ts',
    './src/database/workspace-schema.ts',
  ],
  out: './migrations',
});
