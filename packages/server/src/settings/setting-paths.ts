/** The processes that read `sotto.yaml`. `start` is `npm start`, which runs control and the broker. */
export type Plane = 'control' | 'broker' | 'keeper' | 'start';

const common = {
  LOG_LEVEL: 'log.level',
};

/** Settings that control and the broker share. */
const shared = {
  ...common,
  CONFIDENTIAL_ORIGIN: 'broker.origin',
  CONFIDENTIAL_PORT: 'broker.port',
  CONFIDENTIAL_TLS: 'broker.tls.mode',
  REDIS_URL: 'data.redis_url',
  IMAGE_GENERATION: 'features.image_generation',
  SPEECH_SYNTHESIS: 'features.speech_synthesis',
  TICKET_SEALING_KEY: 'secrets.ticket_sealing_key',
  SETTLEMENT_MAC_KEY: 'secrets.settlement_mac_key',
  DRAIN_DELAY_S: 'drain.delay_s',
  DRAIN_TIMEOUT_S: 'drain.timeout_s',
  TRACES_URL: 'traces.url',
  TRACES_RATIO: 'traces.ratio',
};

const control = {
  ...shared,
  CONTROL_ORIGIN: 'control.origin',
  CONTROL_PORT: 'control.port',
  HOST: 'control.host',
  CONTROL_ADDRESS: 'control.address',
  METRICS_PORT: 'control.metrics_port',
  TRUST_PROXY: 'control.trust_proxy',
  CONFIDENTIAL_ADDRESS: 'broker.address',
  DATABASE_URL: 'data.database_url',
  USAGE_RETENTION_MONTHS: 'data.usage_retention_months',
  CATALOG_FILE: 'models_file',
  CONNECTED_APPS: 'features.connected_apps',
  ANONYMOUS_WALLETS: 'features.anonymous_wallets',
  CREDIT_KEYS_FILE: 'billing.credit_keys_file',
  ACCOUNT_REF_KEY: 'secrets.account_ref_key',
  OTHER_ACCOUNT_REF_KEY: 'secrets.other_account_ref_key',
  OTHER_SETTLEMENT_MAC_KEY: 'secrets.other_settlement_mac_key',
  SESSION_SECRET: 'secrets.session_secret',
  OTHER_SESSION_SECRET: 'secrets.other_session_secret',
  WEBHOOK_NETWORKS: 'webhooks.networks',
  TICKET_TTL_S: 'limits.ticket_ttl_s',
  RATE_LIMIT_REQUESTS: 'limits.requests',
  RATE_LIMIT_TOKENS: 'limits.tokens',
  RATE_LIMIT_CONTROL: 'limits.control',
  MAX_KEYS: 'limits.max_keys',
  MAX_WORKSPACES: 'limits.max_workspaces',
  MAX_BUDGETS: 'limits.max_budgets',
  MAX_APPS: 'limits.max_apps',
  MAX_INVITATIONS: 'limits.max_invitations',
  MAX_PASSKEYS: 'limits.max_passkeys',
  SIGN_UP: 'sign_up.policy',
  SIGN_UP_DOMAINS: 'sign_up.domains',
  SMTP_URL: 'mail.smtp_url',
  MAIL_FROM: 'mail.from',
  OIDC_ISSUER: 'sign_in.openid.issuer',
  OIDC_CLIENT_ID: 'sign_in.openid.client_id',
  OIDC_CLIENT_SECRET: 'sign_in.openid.client_secret',
  OIDC_NAME: 'sign_in.openid.name',
  BILLING: 'billing.mode',
  MONTHLY_GRANT_USD: 'billing.monthly_grant_usd',
  BILLING_FILE: 'billing.file',
  BILLING_TEST_RAIL: 'billing.test_rail',
  STRIPE_SECRET_KEY: 'billing.stripe.secret_key',
  STRIPE_WEBHOOK_SECRET: 'billing.stripe.webhook_secret',
  STRIPE_API_URL: 'billing.stripe.api_url',
  BTCPAY_URL: 'billing.btcpay.url',
  BTCPAY_API_KEY: 'billing.btcpay.api_key',
  BTCPAY_STORE_ID: 'billing.btcpay.store_id',
  BTCPAY_WEBHOOK_SECRET: 'billing.btcpay.webhook_secret',
};

const broker = {
  ...shared,
  HOST: 'broker.host',
  METRICS_PORT: 'broker.metrics_port',
  TRUST_PROXY: 'broker.trust_proxy',
  PROXY_PROTOCOL: 'broker.proxy_protocol',
  CONFIDENTIAL_SHARE_PORT: 'broker.share_port',
  REQUEST_MEMORY_MIB: 'broker.request_memory_mib',
  STREAM_KEEPALIVE_S: 'broker.stream_keepalive_s',
  STREAM_HEADERS_AFTER_S: 'broker.stream_headers_after_s',
  TLS_CERT_FILE: 'broker.tls.cert_file',
  TLS_KEY_FILE: 'broker.tls.key_file',
  TLS_REQUEST_FILE: 'broker.tls.request_file',
  TLS_KEPT_KEY_FILE: 'broker.tls.kept_key_file',
  KEEPER_ORIGIN: 'broker.keeper.origin',
  KEEPER_CA_FILE: 'broker.keeper.ca_file',
  ATTESTATION: 'broker.attestation',
  ATTESTATION_COLLATERAL_URL: 'broker.attestation_collateral_url',
  PROVENANCE_FILE: 'broker.provenance_file',
  PROVIDERS_FILE: 'providers_file',
  OTHER_TICKET_SEALING_KEY: 'secrets.other_ticket_sealing_key',
};

const keeper = {
  ...common,
  KEEPER_ORIGIN: 'keeper.origin',
  KEEPER_PORT: 'keeper.port',
  HOST: 'keeper.host',
  TLS_CERT_FILE: 'keeper.tls.cert_file',
  TLS_KEY_FILE: 'keeper.tls.key_file',
  PINS_FILE: 'keeper.pins_file',
  SECRETS_FILE: 'keeper.secrets_file',
};

const start = {
  ...broker,
  ...control,
  SOTTO_DATA_DIR: 'data.dir',
  SOTTO_SEED_USAGE: 'data.seed_usage',
  LOCAL_MODELS: 'local_models',
  LOG_FORMAT: 'log.format',
};

/** The place of each setting in `sotto.yaml`, by the process that reads it and the variable that overrides it. */
export const settingPaths: Readonly<Record<Plane, Readonly<Record<string, string>>>> = {
  control,
  broker,
  keeper,
  start,
};

/** Variables without a place in the file. The broker judges `NODE_ENV` before it reads any file. */
export const onlyVariables: ReadonlySet<string> = new Set(['NODE_ENV']);

/** Parts of `sotto.yaml` that stand for a file of their own, by the variable that names such a file. */
export const inlineParts: Readonly<Record<string, string>> = {
  PROVIDERS_FILE: 'providers',
  CATALOG_FILE: 'models',
  BILLING_FILE: 'billing.plan',
};
