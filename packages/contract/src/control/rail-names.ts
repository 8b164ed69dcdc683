// Apart from the schemas: pages that need only the list do without the schema library.
export const railNames = ['card', 'crypto', 'test'] as const;
