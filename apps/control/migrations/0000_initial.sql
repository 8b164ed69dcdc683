-- The whole schema. `src/database/*-schema.ts` describes its tables. Later migrations only add to it (`docs/operate/upgrades.md`).

CREATE FUNCTION announce_projection() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  NOTIFY sotto_projection;
  RETURN NULL;
END;
$$;

CREATE FUNCTION check_ledger_balance() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF (SELECT sum(amount_nusd) FROM ledger_entries WHERE transaction_id = NEW.transaction_id) <> 0 THEN
    RAISE EXCEPTION 'ledger transaction % does not balance', NEW.transaction_id;
  END IF;
  RETURN NULL;
END;
$$;

CREATE FUNCTION refuse_billing_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END;
$$;

CREATE FUNCTION refuse_counter_jump() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF TG_OP = 'DELETE' OR TG_OP = 'TRUNCATE' THEN
    RAISE EXCEPTION 'receipt numbers are never given again';
  ELSIF TG_OP = 'INSERT' AND NEW.last <> 1 THEN
    RAISE EXCEPTION 'receipt numbers begin at 1';
  ELSIF TG_OP = 'UPDATE' AND (NEW.last <> OLD.last + 1 OR NEW.year <> OLD.year) THEN
    RAISE EXCEPTION 'receipt numbers have no gaps';
  END IF;
  RETURN NEW;
END;
$$;

CREATE FUNCTION refuse_ledger_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  RAISE EXCEPTION 'the ledger is append-only';
END;
$$;

CREATE FUNCTION refuse_order_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF (NEW.id, NEW.account_id, NEW.rail, NEW.package_id, NEW.amount_nusd, NEW.fee_nusd, NEW.created_at)
    IS DISTINCT FROM (OLD.id, OLD.account_id, OLD.rail, OLD.package_id, OLD.amount_nusd, OLD.fee_nusd, OLD.created_at) THEN
    RAISE EXCEPTION 'what was ordered does not change';
  END IF;
  IF OLD.status IN ('paid', 'refunded') AND NEW.status NOT IN ('paid', 'refunded') THEN
    RAISE EXCEPTION 'a paid order stays paid';
  END IF;
  RETURN NEW;
END;
$$;

CREATE TABLE accounts (
    id uuid NOT NULL,
    user_id text,
    name text NOT NULL,
    wallet_id text NOT NULL,
    balance_nusd bigint DEFAULT 0 NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    projected_version bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    waived_nusd bigint DEFAULT 0 NOT NULL,
    waived_hour integer DEFAULT 0 NOT NULL,
    disabled_at timestamp with time zone,
    monthly_grant_nusd bigint,
    granted_month text,
    deleted_at timestamp with time zone,
    closed_at timestamp with time zone,
    openid_groups text[],
    openid_groups_at timestamp with time zone,
    disabled_by_provider boolean DEFAULT false NOT NULL,
    CONSTRAINT accounts_balance_not_negative CHECK ((balance_nusd >= 0))
);

CREATE TABLE acts (
    id uuid NOT NULL,
    at timestamp with time zone DEFAULT date_trunc('milliseconds'::text, now()) NOT NULL,
    actor text NOT NULL,
    actor_account_id uuid,
    act text NOT NULL,
    account_id uuid,
    workspace_id uuid,
    details jsonb NOT NULL
);

CREATE TABLE alert_deliveries (
    id uuid NOT NULL,
    alert_id uuid NOT NULL,
    account_id uuid,
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE api_keys (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    workspace_id uuid NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    hash text NOT NULL,
    preview text NOT NULL,
    credit_limit_nusd bigint,
    spent_nusd bigint DEFAULT 0 NOT NULL,
    funds_version bigint DEFAULT 1 NOT NULL,
    generation integer DEFAULT 1 NOT NULL,
    projected_generation integer DEFAULT 0 NOT NULL,
    openai_compatible boolean DEFAULT true NOT NULL,
    limit_requests integer,
    limit_tokens integer,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    created_by uuid NOT NULL,
    allowed_models text[],
    expires_at timestamp with time zone,
    disabled_at timestamp with time zone,
    locked_fields text[] DEFAULT '{}'::text[] NOT NULL,
    tag text,
    untagged_at timestamp with time zone
);

CREATE TABLE auth_account (
    id text NOT NULL,
    account_id text NOT NULL,
    provider_id text NOT NULL,
    user_id text NOT NULL,
    access_token text,
    refresh_token text,
    id_token text,
    access_token_expires_at timestamp with time zone,
    refresh_token_expires_at timestamp with time zone,
    scope text,
    password text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE auth_passkey (
    id text NOT NULL,
    name text,
    public_key text NOT NULL,
    user_id text NOT NULL,
    credential_id text NOT NULL,
    counter bigint NOT NULL,
    device_type text NOT NULL,
    backed_up boolean NOT NULL,
    transports text,
    created_at timestamp with time zone,
    aaguid text
);

CREATE TABLE auth_session (
    id text NOT NULL,
    token text NOT NULL,
    user_id text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    ip_address text,
    user_agent text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    factor_at timestamp with time zone,
    openid_sid text,
    openid_at timestamp with time zone
);

CREATE TABLE auth_two_factor (
    id text NOT NULL,
    secret text NOT NULL,
    backup_codes text NOT NULL,
    user_id text NOT NULL,
    verified boolean DEFAULT false NOT NULL,
    failed_verification_count integer DEFAULT 0 NOT NULL,
    locked_until timestamp with time zone
);

CREATE TABLE auth_user (
    id text NOT NULL,
    name text NOT NULL,
    email text NOT NULL,
    email_verified boolean DEFAULT false NOT NULL,
    image text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    two_factor_enabled boolean DEFAULT false NOT NULL,
    passkeys_kept_at timestamp with time zone
);

CREATE TABLE auth_verification (
    id text NOT NULL,
    identifier text NOT NULL,
    value text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE billing_settings (
    account_id uuid NOT NULL,
    low_balance_nusd bigint,
    low_since timestamp(3) with time zone,
    auto_enabled boolean DEFAULT false NOT NULL,
    auto_threshold_nusd bigint,
    auto_package_id text,
    auto_monthly_limit_nusd bigint,
    auto_paused text,
    auto_outcome text,
    auto_outcome_at timestamp(3) with time zone,
    receipt_details text
);

CREATE TABLE budget_alerts (
    id uuid NOT NULL,
    budget_id uuid NOT NULL,
    account_id uuid NOT NULL,
    month text NOT NULL,
    percent integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE budgets (
    id uuid NOT NULL,
    workspace_id uuid NOT NULL,
    member_id uuid,
    key_id uuid,
    limit_nusd bigint,
    version bigint DEFAULT 1 NOT NULL,
    projected_version bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    is_default boolean DEFAULT false NOT NULL,
    projected_at timestamp with time zone DEFAULT now() NOT NULL,
    tag_id uuid,
    tag text,
    CONSTRAINT budgets_one_scope CHECK ((num_nonnulls(member_id, key_id, tag_id) <= 1))
);

CREATE TABLE connect_apps (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    name text NOT NULL,
    homepage text NOT NULL,
    type text NOT NULL,
    redirect_uris jsonb NOT NULL,
    post_logout_redirect_uris jsonb NOT NULL,
    scopes jsonb NOT NULL,
    secret_hash text,
    secret_created_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    disabled_at timestamp with time zone
);

CREATE TABLE connect_artifacts (
    id text NOT NULL,
    kind text NOT NULL,
    grant_id uuid,
    account_id uuid,
    payload text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    consumed_at timestamp with time zone
);

CREATE TABLE connect_grants (
    id uuid NOT NULL,
    app_id uuid NOT NULL,
    account_id uuid NOT NULL,
    key_id uuid NOT NULL,
    scopes jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

CREATE TABLE connect_keys (
    id text NOT NULL,
    kind text NOT NULL,
    sealed text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE connect_subjects (
    app_id uuid NOT NULL,
    account_id uuid NOT NULL,
    subject text NOT NULL
);

CREATE TABLE credit_codes (
    account_id uuid NOT NULL,
    code_hash text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    lots integer DEFAULT 0 NOT NULL,
    CONSTRAINT credit_codes_lots CHECK ((lots >= 0))
);

CREATE TABLE credit_issuances (
    id text NOT NULL,
    account_id uuid NOT NULL,
    key_id text NOT NULL,
    count integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT credit_issuances_count CHECK (((count >= 0) AND (count <= 50)))
);

CREATE TABLE credit_keys (
    key_id text NOT NULL,
    issued bigint DEFAULT 0 NOT NULL,
    spent bigint DEFAULT 0 NOT NULL,
    stopped_at timestamp with time zone,
    CONSTRAINT credit_keys_spent CHECK (((spent >= 0) AND (spent <= issued)))
);

CREATE TABLE deployment (
    is_only boolean DEFAULT true NOT NULL,
    usage_kept_from timestamp with time zone
);

CREATE TABLE grant_identities (
    month text NOT NULL,
    hash text NOT NULL
);

CREATE TABLE grant_keys (
    month text NOT NULL,
    key text NOT NULL
);

CREATE TABLE key_months (
    key_id uuid NOT NULL,
    month text NOT NULL,
    spent_nusd bigint NOT NULL
);

CREATE TABLE key_secrets (
    hash text NOT NULL,
    key_id uuid NOT NULL,
    preview text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    ends_at timestamp with time zone
);

CREATE TABLE ledger_entries (
    id bigint NOT NULL,
    transaction_id uuid NOT NULL,
    ledger_account text NOT NULL,
    amount_nusd bigint NOT NULL
);

ALTER TABLE ledger_entries ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME ledger_entries_id_seq);

CREATE TABLE ledger_transactions (
    id uuid NOT NULL,
    kind text NOT NULL,
    reference text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE monthly_grants (
    account_id uuid NOT NULL,
    month text NOT NULL,
    amount_nusd bigint NOT NULL,
    spent_nusd bigint DEFAULT 0 NOT NULL,
    expired_nusd bigint DEFAULT 0 NOT NULL,
    refused boolean DEFAULT false NOT NULL,
    CONSTRAINT monthly_grants_parts CHECK (((spent_nusd >= 0) AND (expired_nusd >= 0) AND ((spent_nusd + expired_nusd) <= amount_nusd)))
);

CREATE TABLE openid_logouts (
    id text NOT NULL,
    subject text,
    sid text,
    at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

CREATE TABLE operators (
    user_id text NOT NULL,
    granted_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE order_events (
    id bigint NOT NULL,
    order_id uuid NOT NULL,
    at timestamp(3) with time zone NOT NULL,
    source text NOT NULL,
    event text NOT NULL,
    from_status text NOT NULL,
    to_status text NOT NULL,
    flag text
);

ALTER TABLE order_events ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME order_events_id_seq);

CREATE TABLE orders (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    status text NOT NULL,
    rail text NOT NULL,
    package_id text NOT NULL,
    amount_nusd bigint NOT NULL,
    fee_nusd bigint NOT NULL,
    refunded_nusd bigint DEFAULT 0 NOT NULL,
    disputed_nusd bigint DEFAULT 0 NOT NULL,
    automatic boolean NOT NULL,
    save_card boolean NOT NULL,
    rail_reference text,
    card text,
    checkout_url text,
    payment text,
    failure text,
    flag text,
    explanation text,
    created_at timestamp(3) with time zone NOT NULL,
    expires_at timestamp(3) with time zone NOT NULL,
    paid_at timestamp(3) with time zone,
    next_check_at timestamp(3) with time zone,
    form_id text,
    wallet_key_hash text,
    wallet_close_hash text,
    pay_to jsonb,
    CONSTRAINT orders_amounts CHECK (((amount_nusd > 0) AND (fee_nusd >= 0))),
    CONSTRAINT orders_returns CHECK (((refunded_nusd >= 0) AND (disputed_nusd >= 0)))
);

CREATE TABLE plane_minutes (
    minute integer NOT NULL,
    control boolean NOT NULL,
    broker boolean NOT NULL
);

CREATE TABLE rail_customers (
    account_id uuid NOT NULL,
    rail text NOT NULL,
    customer text NOT NULL
);

CREATE TABLE receipt_counters (
    year integer NOT NULL,
    last integer NOT NULL
);

CREATE TABLE receipts (
    number text NOT NULL,
    kind text NOT NULL,
    order_id uuid NOT NULL,
    account_id uuid NOT NULL,
    issued_at timestamp(3) with time zone NOT NULL,
    rail text NOT NULL,
    amount_nusd bigint NOT NULL,
    fee_nusd bigint NOT NULL,
    corrects text,
    account_name text NOT NULL,
    account_email text,
    seller jsonb NOT NULL,
    account_details text
);

CREATE TABLE refusals (
    account_id uuid NOT NULL,
    workspace_id uuid NOT NULL,
    hour timestamp with time zone NOT NULL,
    key_id uuid NOT NULL,
    kind text NOT NULL,
    epoch bigint NOT NULL,
    count bigint NOT NULL
);

CREATE TABLE rejected_settlements (
    id uuid NOT NULL,
    shard integer NOT NULL,
    stream_id text NOT NULL,
    reason text NOT NULL,
    payload text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    resolved_at timestamp with time zone,
    resolution text,
    mac text NOT NULL,
    hold_id text
);

CREATE TABLE scim_group_members (
    group_id uuid NOT NULL,
    user_id uuid NOT NULL
);

CREATE TABLE scim_groups (
    id uuid NOT NULL,
    display_name text NOT NULL,
    external_id text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE scim_users (
    id uuid NOT NULL,
    user_name text NOT NULL,
    external_id text,
    addresses text[] NOT NULL,
    attributes jsonb NOT NULL,
    active boolean DEFAULT true NOT NULL,
    account_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    roles_due boolean DEFAULT false NOT NULL
);

CREATE TABLE settlements (
    id text NOT NULL,
    charge_nusd bigint NOT NULL,
    booked_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE shard_clients (
    shard integer NOT NULL,
    client text NOT NULL,
    seen_at timestamp with time zone NOT NULL
);

CREATE TABLE shard_epochs (
    shard integer NOT NULL,
    epoch bigint NOT NULL
);

CREATE TABLE sign_up_invitations (
    id uuid NOT NULL,
    email text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

CREATE TABLE spent_credits (
    key_id text NOT NULL,
    nonce bytea NOT NULL
);

CREATE TABLE tag_months (
    account_id uuid NOT NULL,
    tag_id uuid NOT NULL,
    month text NOT NULL,
    spent_nusd bigint NOT NULL
);

CREATE TABLE usage (
    id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    account_id uuid NOT NULL,
    workspace_id uuid NOT NULL,
    key_id uuid NOT NULL,
    operation text,
    model text,
    provider text,
    privacy_class text,
    prompt_tokens bigint,
    cached_tokens bigint,
    completion_tokens bigint,
    reasoning_tokens bigint,
    cost_nusd bigint NOT NULL,
    attempts integer,
    fallback boolean,
    status text,
    estimated boolean,
    error text,
    failed_attempts text,
    provider_status text
)
PARTITION BY RANGE (at);

CREATE TABLE usage_daily (
    account_id uuid NOT NULL,
    day date NOT NULL,
    workspace_id uuid NOT NULL,
    key_id uuid NOT NULL,
    operation text,
    model text,
    provider text,
    privacy_class text,
    requests bigint NOT NULL,
    failed bigint NOT NULL,
    cancelled bigint NOT NULL,
    estimated bigint NOT NULL,
    prompt_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    reasoning_tokens bigint NOT NULL,
    cost_nusd bigint NOT NULL
)
WITH (fillfactor='70');

CREATE TABLE usage_daily_first_token (
    account_id uuid NOT NULL,
    day date NOT NULL,
    workspace_id uuid NOT NULL,
    class smallint NOT NULL,
    answers bigint NOT NULL
);

CREATE TABLE usage_daily_keys (
    account_id uuid NOT NULL,
    day date NOT NULL,
    workspace_id uuid NOT NULL,
    key_id uuid NOT NULL,
    requests bigint NOT NULL,
    failed bigint NOT NULL,
    cancelled bigint NOT NULL,
    estimated bigint NOT NULL,
    prompt_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    reasoning_tokens bigint NOT NULL,
    cost_nusd bigint NOT NULL
)
WITH (fillfactor='70');

CREATE TABLE usage_daily_routes (
    account_id uuid NOT NULL,
    day date NOT NULL,
    workspace_id uuid NOT NULL,
    operation text,
    model text,
    provider text,
    privacy_class text,
    requests bigint NOT NULL,
    failed bigint NOT NULL,
    cancelled bigint NOT NULL,
    estimated bigint NOT NULL,
    prompt_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    reasoning_tokens bigint NOT NULL,
    cost_nusd bigint NOT NULL
)
WITH (fillfactor='70');

CREATE TABLE usage_first (
    id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    account_id uuid NOT NULL,
    workspace_id uuid NOT NULL,
    key_id uuid NOT NULL,
    operation text,
    model text,
    provider text,
    privacy_class text,
    prompt_tokens bigint,
    cached_tokens bigint,
    completion_tokens bigint,
    reasoning_tokens bigint,
    cost_nusd bigint NOT NULL,
    attempts integer,
    fallback boolean,
    status text,
    estimated boolean,
    error text,
    failed_attempts text,
    provider_status text
);

CREATE TABLE usage_other (
    id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    account_id uuid NOT NULL,
    workspace_id uuid NOT NULL,
    key_id uuid NOT NULL,
    operation text,
    model text,
    provider text,
    privacy_class text,
    prompt_tokens bigint,
    cached_tokens bigint,
    completion_tokens bigint,
    reasoning_tokens bigint,
    cost_nusd bigint NOT NULL,
    attempts integer,
    fallback boolean,
    status text,
    estimated boolean,
    error text,
    failed_attempts text,
    provider_status text
);

CREATE TABLE wallets (
    account_id uuid NOT NULL,
    key_id uuid NOT NULL,
    key_hash text NOT NULL,
    close_hash text NOT NULL,
    deposit_digest text,
    closed_by text
);

CREATE TABLE workspace_invitations (
    id uuid NOT NULL,
    workspace_id uuid NOT NULL,
    email text NOT NULL,
    role text NOT NULL,
    token_hash text NOT NULL,
    invited_by uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

CREATE TABLE workspace_members (
    workspace_id uuid NOT NULL,
    account_id uuid NOT NULL,
    role text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    by_group boolean DEFAULT false NOT NULL
);

CREATE TABLE workspace_webhooks (
    workspace_id uuid NOT NULL,
    sealed text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    format text DEFAULT 'json'::text NOT NULL
);

CREATE TABLE workspaces (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    name text NOT NULL,
    is_default boolean DEFAULT false NOT NULL,
    preferences jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    deleted_at timestamp with time zone,
    version bigint DEFAULT 1 NOT NULL,
    projected_version bigint DEFAULT 0 NOT NULL,
    tickets_since bigint DEFAULT 1 NOT NULL,
    policy_models text[],
    policy_key_limit_nusd bigint,
    policy_key_days integer,
    policy_compatible boolean DEFAULT true NOT NULL,
    alert_percents integer[] DEFAULT '{50,80,100}'::integer[] NOT NULL,
    member_budget_nusd bigint
);

-- The first partition has everything before the month after next. `usage_other` is for rows whose month has no partition.
DO $$
BEGIN
  EXECUTE format('ALTER TABLE usage ATTACH PARTITION usage_first FOR VALUES FROM (MINVALUE) TO (%L)',
    to_char(date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months', 'YYYY-MM-DD"T00:00:00Z"'));
END $$;

ALTER TABLE ONLY usage ATTACH PARTITION usage_other DEFAULT;
ALTER TABLE accounts ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);
ALTER TABLE accounts ADD CONSTRAINT accounts_user_id_unique UNIQUE (user_id);
ALTER TABLE accounts ADD CONSTRAINT accounts_wallet_id_unique UNIQUE (wallet_id);
ALTER TABLE acts ADD CONSTRAINT acts_pkey PRIMARY KEY (id);
ALTER TABLE alert_deliveries ADD CONSTRAINT alert_deliveries_once UNIQUE NULLS NOT DISTINCT (alert_id, account_id);
ALTER TABLE alert_deliveries ADD CONSTRAINT alert_deliveries_pkey PRIMARY KEY (id);
ALTER TABLE api_keys ADD CONSTRAINT api_keys_hash_unique UNIQUE (hash);
ALTER TABLE api_keys ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE auth_account ADD CONSTRAINT auth_account_pkey PRIMARY KEY (id);
ALTER TABLE auth_passkey ADD CONSTRAINT auth_passkey_credential_id_unique UNIQUE (credential_id);
ALTER TABLE auth_passkey ADD CONSTRAINT auth_passkey_pkey PRIMARY KEY (id);
ALTER TABLE auth_session ADD CONSTRAINT auth_session_pkey PRIMARY KEY (id);
ALTER TABLE auth_session ADD CONSTRAINT auth_session_token_unique UNIQUE (token);
ALTER TABLE auth_two_factor ADD CONSTRAINT auth_two_factor_pkey PRIMARY KEY (id);
ALTER TABLE auth_user ADD CONSTRAINT auth_user_email_unique UNIQUE (email);
ALTER TABLE auth_user ADD CONSTRAINT auth_user_pkey PRIMARY KEY (id);
ALTER TABLE auth_verification ADD CONSTRAINT auth_verification_pkey PRIMARY KEY (id);
ALTER TABLE billing_settings ADD CONSTRAINT billing_settings_pkey PRIMARY KEY (account_id);
ALTER TABLE budget_alerts ADD CONSTRAINT budget_alerts_budget_id_account_id_month_percent_pk PRIMARY KEY (budget_id, account_id, month, percent);
ALTER TABLE budget_alerts ADD CONSTRAINT budget_alerts_id_unique UNIQUE (id);
ALTER TABLE budgets ADD CONSTRAINT budgets_pkey PRIMARY KEY (id);
ALTER TABLE budgets ADD CONSTRAINT budgets_scope UNIQUE NULLS NOT DISTINCT (workspace_id, member_id, key_id, tag_id);
ALTER TABLE connect_apps ADD CONSTRAINT connect_apps_pkey PRIMARY KEY (id);
ALTER TABLE connect_artifacts ADD CONSTRAINT connect_artifacts_pkey PRIMARY KEY (id);
ALTER TABLE connect_grants ADD CONSTRAINT connect_grants_key_id_unique UNIQUE (key_id);
ALTER TABLE connect_grants ADD CONSTRAINT connect_grants_pkey PRIMARY KEY (id);
ALTER TABLE connect_keys ADD CONSTRAINT connect_keys_pkey PRIMARY KEY (id);
ALTER TABLE connect_subjects ADD CONSTRAINT connect_subjects_app_id_account_id_pk PRIMARY KEY (app_id, account_id);
ALTER TABLE connect_subjects ADD CONSTRAINT connect_subjects_subject_unique UNIQUE (subject);
ALTER TABLE credit_codes ADD CONSTRAINT credit_codes_code_hash_unique UNIQUE (code_hash);
ALTER TABLE credit_codes ADD CONSTRAINT credit_codes_pkey PRIMARY KEY (account_id);
ALTER TABLE credit_issuances ADD CONSTRAINT credit_issuances_pkey PRIMARY KEY (id);
ALTER TABLE credit_keys ADD CONSTRAINT credit_keys_pkey PRIMARY KEY (key_id);
ALTER TABLE deployment ADD CONSTRAINT deployment_pkey PRIMARY KEY (is_only);
ALTER TABLE grant_identities ADD CONSTRAINT grant_identities_month_hash_pk PRIMARY KEY (month, hash);
ALTER TABLE grant_keys ADD CONSTRAINT grant_keys_pkey PRIMARY KEY (month);
ALTER TABLE key_months ADD CONSTRAINT key_months_key_id_month_pk PRIMARY KEY (key_id, month);
ALTER TABLE key_secrets ADD CONSTRAINT key_secrets_pkey PRIMARY KEY (hash);
ALTER TABLE ledger_entries ADD CONSTRAINT ledger_entries_pkey PRIMARY KEY (id);
ALTER TABLE ledger_transactions ADD CONSTRAINT ledger_transactions_pkey PRIMARY KEY (id);
ALTER TABLE ledger_transactions ADD CONSTRAINT ledger_transactions_reference_unique UNIQUE (reference);
ALTER TABLE monthly_grants ADD CONSTRAINT monthly_grants_account_id_month_pk PRIMARY KEY (account_id, month);
ALTER TABLE openid_logouts ADD CONSTRAINT openid_logouts_pkey PRIMARY KEY (id);
ALTER TABLE operators ADD CONSTRAINT operators_pkey PRIMARY KEY (user_id);
ALTER TABLE order_events ADD CONSTRAINT order_events_pkey PRIMARY KEY (id);
ALTER TABLE orders ADD CONSTRAINT orders_pkey PRIMARY KEY (id);
ALTER TABLE plane_minutes ADD CONSTRAINT plane_minutes_pkey PRIMARY KEY (minute);
ALTER TABLE rail_customers ADD CONSTRAINT rail_customers_account_id_rail_pk PRIMARY KEY (account_id, rail);
ALTER TABLE receipt_counters ADD CONSTRAINT receipt_counters_pkey PRIMARY KEY (year);
ALTER TABLE receipts ADD CONSTRAINT receipts_pkey PRIMARY KEY (number);
ALTER TABLE refusals ADD CONSTRAINT refusals_account_id_workspace_id_hour_key_id_kind_epoch_pk PRIMARY KEY (account_id, workspace_id, hour, key_id, kind, epoch);
ALTER TABLE rejected_settlements ADD CONSTRAINT rejected_settlements_pkey PRIMARY KEY (id);
ALTER TABLE scim_group_members ADD CONSTRAINT scim_group_members_group_id_user_id_pk PRIMARY KEY (group_id, user_id);
ALTER TABLE scim_groups ADD CONSTRAINT scim_groups_pkey PRIMARY KEY (id);
ALTER TABLE scim_users ADD CONSTRAINT scim_users_pkey PRIMARY KEY (id);
ALTER TABLE settlements ADD CONSTRAINT settlements_pkey PRIMARY KEY (id);
ALTER TABLE shard_clients ADD CONSTRAINT shard_clients_shard_client_pk PRIMARY KEY (shard, client);
ALTER TABLE shard_epochs ADD CONSTRAINT shard_epochs_pkey PRIMARY KEY (shard);
ALTER TABLE sign_up_invitations ADD CONSTRAINT sign_up_invitations_email_unique UNIQUE (email);
ALTER TABLE sign_up_invitations ADD CONSTRAINT sign_up_invitations_pkey PRIMARY KEY (id);
ALTER TABLE spent_credits ADD CONSTRAINT spent_credits_key_id_nonce_pk PRIMARY KEY (key_id, nonce);
ALTER TABLE tag_months ADD CONSTRAINT tag_months_account_id_tag_id_month_pk PRIMARY KEY (account_id, tag_id, month);
ALTER TABLE usage_daily_first_token ADD CONSTRAINT usage_daily_first_token_account_id_day_workspace_id_class_pk PRIMARY KEY (account_id, day, workspace_id, class);
ALTER TABLE usage_daily_keys ADD CONSTRAINT usage_daily_keys_row UNIQUE (account_id, day, workspace_id, key_id);
ALTER TABLE usage_daily_routes ADD CONSTRAINT usage_daily_routes_row UNIQUE NULLS NOT DISTINCT (account_id, day, workspace_id, operation, model, provider, privacy_class);
ALTER TABLE usage_daily ADD CONSTRAINT usage_daily_row UNIQUE NULLS NOT DISTINCT (account_id, day, workspace_id, key_id, operation, model, provider, privacy_class);
ALTER TABLE usage_first ADD CONSTRAINT usage_first_pkey PRIMARY KEY (id);
ALTER TABLE wallets ADD CONSTRAINT wallets_close_hash_unique UNIQUE (close_hash);
ALTER TABLE wallets ADD CONSTRAINT wallets_key_hash_unique UNIQUE (key_hash);
ALTER TABLE wallets ADD CONSTRAINT wallets_pkey PRIMARY KEY (account_id);
ALTER TABLE workspace_invitations ADD CONSTRAINT workspace_invitations_address UNIQUE (workspace_id, email);
ALTER TABLE workspace_invitations ADD CONSTRAINT workspace_invitations_pkey PRIMARY KEY (id);
ALTER TABLE workspace_invitations ADD CONSTRAINT workspace_invitations_token_hash_unique UNIQUE (token_hash);
ALTER TABLE workspace_members ADD CONSTRAINT workspace_members_workspace_id_account_id_pk PRIMARY KEY (workspace_id, account_id);
ALTER TABLE workspace_webhooks ADD CONSTRAINT workspace_webhooks_pkey PRIMARY KEY (workspace_id);
ALTER TABLE workspaces ADD CONSTRAINT workspaces_pkey PRIMARY KEY (id);
CREATE INDEX accounts_closing_idx ON accounts USING btree (id) WHERE ((deleted_at IS NOT NULL) AND (closed_at IS NULL));
CREATE INDEX accounts_unprojected_idx ON accounts USING btree (id) WHERE (projected_version < version);
CREATE INDEX acts_account_idx ON acts USING btree (account_id, at, id);
CREATE INDEX acts_act_idx ON acts USING btree (act, at, id);
CREATE INDEX acts_actor_idx ON acts USING btree (actor_account_id, at, id);
CREATE INDEX acts_at_idx ON acts USING btree (at, id);
CREATE INDEX acts_workspace_idx ON acts USING btree (workspace_id, at, id);
CREATE INDEX alert_deliveries_next_idx ON alert_deliveries USING btree (next_attempt_at);
CREATE INDEX api_keys_account_idx ON api_keys USING btree (account_id);
CREATE INDEX api_keys_creator_idx ON api_keys USING btree (created_by);
CREATE INDEX api_keys_unprojected_idx ON api_keys USING btree (id) WHERE (projected_generation < generation);
CREATE INDEX api_keys_workspace_idx ON api_keys USING btree (workspace_id);
CREATE UNIQUE INDEX auth_account_provider_account_key ON auth_account USING btree (provider_id, account_id);
CREATE INDEX auth_account_user_id_idx ON auth_account USING btree (user_id);
CREATE INDEX auth_passkey_user_id_idx ON auth_passkey USING btree (user_id);
CREATE INDEX auth_session_openid_sid_idx ON auth_session USING btree (openid_sid) WHERE (openid_sid IS NOT NULL);
CREATE INDEX auth_session_user_id_idx ON auth_session USING btree (user_id);
CREATE UNIQUE INDEX auth_two_factor_user_key ON auth_two_factor USING btree (user_id);
CREATE INDEX auth_verification_identifier_idx ON auth_verification USING btree (identifier);
CREATE INDEX budgets_unprojected_idx ON budgets USING btree (id) WHERE (projected_version < version);
CREATE INDEX connect_apps_account_idx ON connect_apps USING btree (account_id);
CREATE INDEX connect_artifacts_expires_idx ON connect_artifacts USING btree (expires_at);
CREATE INDEX connect_artifacts_grant_idx ON connect_artifacts USING btree (grant_id);
CREATE INDEX connect_grants_account_idx ON connect_grants USING btree (account_id);
CREATE INDEX connect_grants_app_idx ON connect_grants USING btree (app_id);
CREATE INDEX credit_issuances_account_idx ON credit_issuances USING btree (account_id, created_at);
CREATE INDEX credit_issuances_time_idx ON credit_issuances USING btree (created_at);
CREATE INDEX key_secrets_key_idx ON key_secrets USING btree (key_id);
CREATE INDEX ledger_entries_account_idx ON ledger_entries USING btree (ledger_account);
CREATE INDEX ledger_entries_transaction_idx ON ledger_entries USING btree (transaction_id);
CREATE INDEX monthly_grants_left_idx ON monthly_grants USING btree (account_id, month) WHERE (amount_nusd > (spent_nusd + expired_nusd));
CREATE INDEX monthly_grants_refused_idx ON monthly_grants USING btree (month) WHERE refused;
CREATE INDEX openid_logouts_sid_idx ON openid_logouts USING btree (sid);
CREATE INDEX openid_logouts_subject_idx ON openid_logouts USING btree (subject);
CREATE INDEX order_events_order_idx ON order_events USING btree (order_id);
CREATE INDEX orders_account_idx ON orders USING btree (account_id, created_at, id);
CREATE UNIQUE INDEX orders_form_idx ON orders USING btree (account_id, form_id) WHERE (form_id IS NOT NULL);
CREATE INDEX orders_next_check_idx ON orders USING btree (next_check_at) WHERE (next_check_at IS NOT NULL);
CREATE UNIQUE INDEX orders_one_automatic_idx ON orders USING btree (account_id) WHERE (automatic AND (status = ANY (ARRAY['created'::text, 'pending'::text])));
CREATE INDEX orders_payment_idx ON orders USING btree (rail, payment);
CREATE UNIQUE INDEX orders_reference_idx ON orders USING btree (rail, rail_reference);
CREATE INDEX orders_time_idx ON orders USING btree (created_at, id) WHERE ((wallet_key_hash IS NULL) OR (payment IS NOT NULL) OR (flag IS NOT NULL));
CREATE UNIQUE INDEX orders_wallet_close_idx ON orders USING btree (wallet_close_hash) WHERE (wallet_close_hash IS NOT NULL);
CREATE UNIQUE INDEX orders_wallet_key_idx ON orders USING btree (wallet_key_hash) WHERE (wallet_key_hash IS NOT NULL);
CREATE INDEX receipts_account_idx ON receipts USING btree (account_id, issued_at DESC NULLS LAST, number DESC NULLS LAST);
CREATE UNIQUE INDEX receipts_one_an_order_idx ON receipts USING btree (order_id) WHERE (kind = 'receipt'::text);
CREATE INDEX refusals_hour_idx ON refusals USING btree (hour);
CREATE INDEX scim_group_members_user_idx ON scim_group_members USING btree (user_id);
CREATE INDEX scim_groups_created_idx ON scim_groups USING btree (created_at, id);
CREATE INDEX scim_groups_external_idx ON scim_groups USING btree (external_id);
CREATE UNIQUE INDEX scim_groups_name_key ON scim_groups USING btree (lower(display_name));
CREATE UNIQUE INDEX scim_users_account_key ON scim_users USING btree (account_id);
CREATE INDEX scim_users_addresses_idx ON scim_users USING gin (addresses);
CREATE INDEX scim_users_created_idx ON scim_users USING btree (created_at, id);
CREATE INDEX scim_users_due_idx ON scim_users USING btree (id) WHERE roles_due;
CREATE INDEX scim_users_external_idx ON scim_users USING btree (external_id);
CREATE UNIQUE INDEX scim_users_name_key ON scim_users USING btree (lower(user_name));
-- A new month names the indexes of its partition by the order of these.
CREATE INDEX usage_account_idx ON ONLY usage USING btree (account_id, at, id);
CREATE INDEX usage_daily_key_idx ON usage_daily USING btree (account_id, key_id, day);
CREATE INDEX usage_daily_keys_day_idx ON usage_daily_keys USING btree (day);
CREATE INDEX usage_daily_keys_key_day_idx ON usage_daily_keys USING btree (account_id, key_id, day);
CREATE INDEX usage_daily_model_idx ON usage_daily USING btree (account_id, model, day);
CREATE INDEX usage_daily_workspace_idx ON usage_daily USING btree (account_id, workspace_id, day);
CREATE INDEX usage_model_idx ON ONLY usage USING btree (account_id, model, at, id);
CREATE INDEX usage_key_idx ON ONLY usage USING btree (account_id, key_id, at, id);
CREATE INDEX usage_first_account_idx ON usage_first USING btree (account_id, at, id);
CREATE INDEX usage_first_model_idx ON usage_first USING btree (account_id, model, at, id);
CREATE INDEX usage_key_model_idx ON ONLY usage USING btree (account_id, key_id, model, at, id);
CREATE INDEX usage_first_key_idx ON usage_first USING btree (account_id, key_id, at, id);
CREATE INDEX usage_first_key_model_idx ON usage_first USING btree (account_id, key_id, model, at, id);
CREATE INDEX usage_workspace_idx ON ONLY usage USING btree (account_id, workspace_id, at, id);
CREATE INDEX usage_first_workspace_idx ON usage_first USING btree (account_id, workspace_id, at, id);
CREATE INDEX usage_workspace_model_idx ON ONLY usage USING btree (account_id, workspace_id, model, at, id);
CREATE INDEX usage_first_workspace_model_idx ON usage_first USING btree (account_id, workspace_id, model, at, id);
CREATE INDEX usage_failed_idx ON ONLY usage USING btree (account_id, at, id) WHERE (status <> 'completed'::text);
CREATE INDEX usage_first_account_id_at_id_idx ON usage_first USING btree (account_id, at, id) WHERE (status <> 'completed'::text);
CREATE INDEX usage_error_idx ON ONLY usage USING btree (account_id, error, at, id) WHERE (status <> 'completed'::text);
CREATE INDEX usage_first_account_id_error_at_id_idx ON usage_first USING btree (account_id, error, at, id) WHERE (status <> 'completed'::text);
CREATE INDEX usage_provider_idx ON ONLY usage USING btree (account_id, provider, at, id);
CREATE INDEX usage_first_account_id_provider_at_id_idx ON usage_first USING btree (account_id, provider, at, id);
CREATE INDEX usage_other_account_id_at_id_idx ON usage_other USING btree (account_id, at, id);
CREATE INDEX usage_other_account_id_model_at_id_idx ON usage_other USING btree (account_id, model, at, id);
CREATE INDEX usage_other_account_id_key_id_at_id_idx ON usage_other USING btree (account_id, key_id, at, id);
CREATE INDEX usage_other_account_id_key_id_model_at_id_idx ON usage_other USING btree (account_id, key_id, model, at, id);
CREATE INDEX usage_other_account_id_workspace_id_at_id_idx ON usage_other USING btree (account_id, workspace_id, at, id);
CREATE INDEX usage_other_account_id_workspace_id_model_at_id_idx ON usage_other USING btree (account_id, workspace_id, model, at, id);
CREATE INDEX usage_other_account_id_at_id_idx1 ON usage_other USING btree (account_id, at, id) WHERE (status <> 'completed'::text);
CREATE INDEX usage_other_account_id_error_at_id_idx ON usage_other USING btree (account_id, error, at, id) WHERE (status <> 'completed'::text);
CREATE INDEX usage_other_account_id_provider_at_id_idx ON usage_other USING btree (account_id, provider, at, id);
CREATE INDEX workspace_members_account_idx ON workspace_members USING btree (account_id);
CREATE INDEX workspaces_account_idx ON workspaces USING btree (account_id);
CREATE UNIQUE INDEX workspaces_default_idx ON workspaces USING btree (account_id) WHERE is_default;
CREATE INDEX workspaces_member_budget_idx ON workspaces USING btree (id) WHERE ((member_budget_nusd IS NOT NULL) AND (deleted_at IS NULL));
CREATE INDEX workspaces_unprojected_idx ON workspaces USING btree (id) WHERE (projected_version < version);
ALTER INDEX usage_failed_idx ATTACH PARTITION usage_first_account_id_at_id_idx;
ALTER INDEX usage_error_idx ATTACH PARTITION usage_first_account_id_error_at_id_idx;
ALTER INDEX usage_provider_idx ATTACH PARTITION usage_first_account_id_provider_at_id_idx;
ALTER INDEX usage_account_idx ATTACH PARTITION usage_first_account_idx;
ALTER INDEX usage_key_idx ATTACH PARTITION usage_first_key_idx;
ALTER INDEX usage_key_model_idx ATTACH PARTITION usage_first_key_model_idx;
ALTER INDEX usage_model_idx ATTACH PARTITION usage_first_model_idx;
ALTER INDEX usage_workspace_idx ATTACH PARTITION usage_first_workspace_idx;
ALTER INDEX usage_workspace_model_idx ATTACH PARTITION usage_first_workspace_model_idx;
ALTER INDEX usage_account_idx ATTACH PARTITION usage_other_account_id_at_id_idx;
ALTER INDEX usage_failed_idx ATTACH PARTITION usage_other_account_id_at_id_idx1;
ALTER INDEX usage_error_idx ATTACH PARTITION usage_other_account_id_error_at_id_idx;
ALTER INDEX usage_key_idx ATTACH PARTITION usage_other_account_id_key_id_at_id_idx;
ALTER INDEX usage_key_model_idx ATTACH PARTITION usage_other_account_id_key_id_model_at_id_idx;
ALTER INDEX usage_model_idx ATTACH PARTITION usage_other_account_id_model_at_id_idx;
ALTER INDEX usage_provider_idx ATTACH PARTITION usage_other_account_id_provider_at_id_idx;
ALTER INDEX usage_workspace_idx ATTACH PARTITION usage_other_account_id_workspace_id_at_id_idx;
ALTER INDEX usage_workspace_model_idx ATTACH PARTITION usage_other_account_id_workspace_id_model_at_id_idx;
CREATE TRIGGER accounts_announce_projection AFTER INSERT OR UPDATE ON accounts FOR EACH ROW WHEN ((new.projected_version < new.version)) EXECUTE FUNCTION announce_projection();
CREATE TRIGGER acts_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON acts FOR EACH STATEMENT EXECUTE FUNCTION refuse_billing_change();
CREATE TRIGGER api_keys_announce_projection AFTER INSERT OR UPDATE ON api_keys FOR EACH ROW WHEN ((new.projected_generation < new.generation)) EXECUTE FUNCTION announce_projection();
CREATE TRIGGER budgets_announce_projection AFTER INSERT OR UPDATE ON budgets FOR EACH ROW WHEN ((new.projected_version < new.version)) EXECUTE FUNCTION announce_projection();
CREATE TRIGGER ledger_entries_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON ledger_entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_ledger_change();
CREATE CONSTRAINT TRIGGER ledger_entries_balance AFTER INSERT ON ledger_entries DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_ledger_balance();
CREATE TRIGGER ledger_transactions_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON ledger_transactions FOR EACH STATEMENT EXECUTE FUNCTION refuse_ledger_change();
CREATE TRIGGER order_events_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON order_events FOR EACH STATEMENT EXECUTE FUNCTION refuse_billing_change();
CREATE TRIGGER orders_fixed BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION refuse_order_change();
CREATE TRIGGER receipt_counters_kept BEFORE TRUNCATE ON receipt_counters FOR EACH STATEMENT EXECUTE FUNCTION refuse_counter_jump();
CREATE TRIGGER receipt_counters_step BEFORE INSERT OR DELETE OR UPDATE ON receipt_counters FOR EACH ROW EXECUTE FUNCTION refuse_counter_jump();
CREATE TRIGGER receipts_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON receipts FOR EACH STATEMENT EXECUTE FUNCTION refuse_billing_change();
CREATE TRIGGER workspaces_announce_projection AFTER INSERT OR UPDATE ON workspaces FOR EACH ROW WHEN ((new.projected_version < new.version)) EXECUTE FUNCTION announce_projection();
ALTER TABLE accounts ADD CONSTRAINT accounts_user_id_auth_user_id_fk FOREIGN KEY (user_id) REFERENCES auth_user(id) ON DELETE SET NULL;
ALTER TABLE alert_deliveries ADD CONSTRAINT alert_deliveries_alert_id_budget_alerts_id_fk FOREIGN KEY (alert_id) REFERENCES budget_alerts(id) ON DELETE CASCADE;
ALTER TABLE api_keys ADD CONSTRAINT api_keys_account_id_accounts_id_fk FOREIGN KEY (account_id) REFERENCES accounts(id);
ALTER TABLE api_keys ADD CONSTRAINT api_keys_created_by_accounts_id_fk FOREIGN KEY (created_by) REFERENCES accounts(id);
ALTER TABLE api_keys ADD CONSTRAINT api_keys_workspace_id_workspaces_id_fk FOREIGN KEY (workspace_id) REFERENCES workspaces(id);
ALTER TABLE auth_account ADD CONSTRAINT auth_account_user_id_auth_user_id_fk FOREIGN KEY (user_id) REFERENCES auth_user(id) ON DELETE CASCADE;
ALTER TABLE auth_passkey ADD CONSTRAINT auth_passkey_user_id_auth_user_id_fk FOREIGN KEY (user_id) REFERENCES auth_user(id) ON DELETE CASCADE;
ALTER TABLE auth_session ADD CONSTRAINT auth_session_user_id_auth_user_id_fk FOREIGN KEY (user_id) REFERENCES auth_user(id) ON DELETE CASCADE;
ALTER TABLE auth_two_factor ADD CONSTRAINT auth_two_factor_user_id_auth_user_id_fk FOREIGN KEY (user_id) REFERENCES auth_user(id) ON DELETE CASCADE;
ALTER TABLE billing_settings ADD CONSTRAINT billing_settings_account_id_accounts_id_fk FOREIGN KEY (account_id) REFERENCES accounts(id);
ALTER TABLE budget_alerts ADD CONSTRAINT budget_alerts_budget_id_budgets_id_fk FOREIGN KEY (budget_id) REFERENCES budgets(id);
ALTER TABLE budgets ADD CONSTRAINT budgets_key_id_api_keys_id_fk FOREIGN KEY (key_id) REFERENCES api_keys(id);
ALTER TABLE budgets ADD CONSTRAINT budgets_member_id_accounts_id_fk FOREIGN KEY (member_id) REFERENCES accounts(id);
ALTER TABLE budgets ADD CONSTRAINT budgets_workspace_id_workspaces_id_fk FOREIGN KEY (workspace_id) REFERENCES workspaces(id);
ALTER TABLE connect_apps ADD CONSTRAINT connect_apps_account_id_accounts_id_fk FOREIGN KEY (account_id) REFERENCES accounts(id);
ALTER TABLE connect_grants ADD CONSTRAINT connect_grants_account_id_accounts_id_fk FOREIGN KEY (account_id) REFERENCES accounts(id);
ALTER TABLE connect_grants ADD CONSTRAINT connect_grants_app_id_connect_apps_id_fk FOREIGN KEY (app_id) REFERENCES connect_apps(id);
ALTER TABLE connect_grants ADD CONSTRAINT connect_grants_key_id_api_keys_id_fk FOREIGN KEY (key_id) REFERENCES api_keys(id);
ALTER TABLE connect_subjects ADD CONSTRAINT connect_subjects_account_id_accounts_id_fk FOREIGN KEY (account_id) REFERENCES accounts(id);
ALTER TABLE connect_subjects ADD CONSTRAINT connect_subjects_app_id_connect_apps_id_fk FOREIGN KEY (app_id) REFERENCES connect_apps(id);
ALTER TABLE credit_codes ADD CONSTRAINT credit_codes_account_id_accounts_id_fk FOREIGN KEY (account_id) REFERENCES accounts(id);
ALTER TABLE credit_issuances ADD CONSTRAINT credit_issuances_account_id_accounts_id_fk FOREIGN KEY (account_id) REFERENCES accounts(id);
ALTER TABLE grant_identities ADD CONSTRAINT grant_identities_month_grant_keys_month_fk FOREIGN KEY (month) REFERENCES grant_keys(month) ON DELETE CASCADE;
ALTER TABLE key_months ADD CONSTRAINT key_months_key_id_api_keys_id_fk FOREIGN KEY (key_id) REFERENCES api_keys(id);
ALTER TABLE key_secrets ADD CONSTRAINT key_secrets_key_id_api_keys_id_fk FOREIGN KEY (key_id) REFERENCES api_keys(id);
ALTER TABLE ledger_entries ADD CONSTRAINT ledger_entries_transaction_id_ledger_transactions_id_fk FOREIGN KEY (transaction_id) REFERENCES ledger_transactions(id);
ALTER TABLE monthly_grants ADD CONSTRAINT monthly_grants_account_id_accounts_id_fk FOREIGN KEY (account_id) REFERENCES accounts(id);
ALTER TABLE operators ADD CONSTRAINT operators_user_id_auth_user_id_fk FOREIGN KEY (user_id) REFERENCES auth_user(id) ON DELETE CASCADE;
ALTER TABLE order_events ADD CONSTRAINT order_events_order_id_orders_id_fk FOREIGN KEY (order_id) REFERENCES orders(id);
ALTER TABLE rail_customers ADD CONSTRAINT rail_customers_account_id_accounts_id_fk FOREIGN KEY (account_id) REFERENCES accounts(id);
ALTER TABLE receipts ADD CONSTRAINT receipts_account_id_accounts_id_fk FOREIGN KEY (account_id) REFERENCES accounts(id);
ALTER TABLE receipts ADD CONSTRAINT receipts_order_id_orders_id_fk FOREIGN KEY (order_id) REFERENCES orders(id);
ALTER TABLE scim_group_members ADD CONSTRAINT scim_group_members_group_id_scim_groups_id_fk FOREIGN KEY (group_id) REFERENCES scim_groups(id) ON DELETE CASCADE;
ALTER TABLE scim_group_members ADD CONSTRAINT scim_group_members_user_id_scim_users_id_fk FOREIGN KEY (user_id) REFERENCES scim_users(id) ON DELETE CASCADE;
ALTER TABLE scim_users ADD CONSTRAINT scim_users_account_id_accounts_id_fk FOREIGN KEY (account_id) REFERENCES accounts(id);
ALTER TABLE tag_months ADD CONSTRAINT tag_months_account_id_accounts_id_fk FOREIGN KEY (account_id) REFERENCES accounts(id);
ALTER TABLE wallets ADD CONSTRAINT wallets_account_id_accounts_id_fk FOREIGN KEY (account_id) REFERENCES accounts(id);
ALTER TABLE workspace_invitations ADD CONSTRAINT workspace_invitations_invited_by_accounts_id_fk FOREIGN KEY (invited_by) REFERENCES accounts(id);
ALTER TABLE workspace_invitations ADD CONSTRAINT workspace_invitations_workspace_id_workspaces_id_fk FOREIGN KEY (workspace_id) REFERENCES workspaces(id);
ALTER TABLE workspace_members ADD CONSTRAINT workspace_members_account_id_accounts_id_fk FOREIGN KEY (account_id) REFERENCES accounts(id);
ALTER TABLE workspace_members ADD CONSTRAINT workspace_members_workspace_id_workspaces_id_fk FOREIGN KEY (workspace_id) REFERENCES workspaces(id);
ALTER TABLE workspace_webhooks ADD CONSTRAINT workspace_webhooks_workspace_id_workspaces_id_fk FOREIGN KEY (workspace_id) REFERENCES workspaces(id);
ALTER TABLE workspaces ADD CONSTRAINT workspaces_account_id_accounts_id_fk FOREIGN KEY (account_id) REFERENCES accounts(id);

INSERT INTO deployment DEFAULT VALUES;
