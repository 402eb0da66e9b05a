-- cspell:disable
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE FUNCTION public.store_orders_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ BEGIN
      -- Once in a transaction is enough, because its end changes the revision again. Before it has
      -- an id, the transaction has changed no row.
      IF pg_current_xact_id_if_assigned() IS NOT NULL
        AND current_setting('store_orders.changed', true) IS DISTINCT FROM TG_RELID::text THEN
        PERFORM set_config('store_orders.changed', TG_RELID::text, true);
        PERFORM pg_advisory_xact_lock_shared(1145292107::bigint << 32 | TG_RELID::bigint);
        PERFORM setval(format('%I.store_orders_revision', TG_TABLE_SCHEMA), hashtextextended(gen_random_uuid()::text, 0));
      END IF;
      RETURN NULL;
    END $$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.store_orders (
    id bigint NOT NULL,
    pet_id bigint,
    quantity bigint,
    ship_date text,
    complete boolean,
    status text NOT NULL,
    CONSTRAINT order_quantity_is_a_safe_integer CHECK (((quantity >= '-9007199254740991'::bigint) AND (quantity <= '9007199254740991'::bigint))),
    CONSTRAINT order_ship_date_is_rfc_3339 CHECK ((ship_date ~ '^(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)[Tt](?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:[.][0-9]{1,38})?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])|23:59:60(?:[.][0-9]{1,38})?[Zz])$'::text)),
    CONSTRAINT order_status_is_a_word CHECK ((status ~ '^[a-z][a-z0-9_]{0,63}$'::text))
);
CREATE TABLE public.store_orders_keys (
    id text NOT NULL,
    seq bigint NOT NULL,
    digest text NOT NULL,
    name text,
    plan text NOT NULL,
    per_minute bigint,
    per_day bigint,
    created_at text NOT NULL,
    revoked_at text,
    expires_at text
);
ALTER TABLE public.store_orders_keys ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.store_orders_keys_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE SEQUENCE public.store_orders_revision
    START WITH -9223372036854775808
    INCREMENT BY 1
    MINVALUE -9223372036854775808
    NO MAXVALUE
    CACHE 1;
CREATE TABLE public.store_orders_versions (
    part text NOT NULL,
    version integer NOT NULL
);
INSERT INTO public.store_orders VALUES (-1, NULL, NULL, NULL, false, 'shipped');
INSERT INTO public.store_orders VALUES (0, NULL, NULL, NULL, NULL, 'on_hold');
INSERT INTO public.store_orders VALUES (9223372036854775807, -9223372036854775808, 3, '2026-07-16T00:00:00Z', true, 'pending');
INSERT INTO public.store_orders VALUES (7, NULL, NULL, NULL, NULL, 'cancelled');
INSERT INTO public.store_orders_keys OVERRIDING SYSTEM VALUE VALUES ('key_mAEIiMoEkQ', 1, 'e6bb04bb939a8fe993a36109cc1e6643f7445084b7ea2f82fa7e39be0f699779', 'Ann', 'enterprise', 5, 9, '2026-11-24T03:03:05.397Z', NULL, NULL);
INSERT INTO public.store_orders_keys OVERRIDING SYSTEM VALUE VALUES ('key_fF00YpXbFX', 2, '1639ae957230efa9020f9d457d6148c978534a5add23e1ccca4eddd4ec84e3f4', NULL, 'free', NULL, NULL, '2026-11-24T03:03:05.547Z', NULL, NULL);
INSERT INTO public.store_orders_keys OVERRIDING SYSTEM VALUE VALUES ('key_VO7M6cL06m', 4, '0c0fce203e1aad679c5855deb5586ce28da116fa67b5a2e392ba9ac93503d63b', NULL, 'pro', NULL, NULL, '2026-11-24T03:03:05.929Z', NULL, '2026-11-24T03:03:06.877Z');
INSERT INTO public.store_orders_keys OVERRIDING SYSTEM VALUE VALUES ('key_VCcm3lyaXl', 3, 'de6ef1f124575c362ed0f5ff2368d8f5716350c05214ed7594e25e853ea97a66', NULL, 'pro', NULL, NULL, '2026-11-24T03:03:05.721Z', '2026-11-24T03:03:06.051Z', NULL);
INSERT INTO public.store_orders_versions VALUES ('orders', 1);
INSERT INTO public.store_orders_versions VALUES ('keys', 1);
SELECT pg_catalog.setval('public.store_orders_keys_seq_seq', 4, true);
SELECT pg_catalog.setval('public.store_orders_revision', 52655950485675392, true);
ALTER TABLE ONLY public.store_orders_keys
    ADD CONSTRAINT store_orders_keys_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.store_orders_keys
    ADD CONSTRAINT store_orders_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.store_orders
    ADD CONSTRAINT store_orders_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.store_orders_versions
    ADD CONSTRAINT store_orders_versions_pkey PRIMARY KEY (part);
CREATE TRIGGER store_orders_changed AFTER INSERT OR DELETE OR UPDATE OF id, pet_id, quantity, ship_date, complete OR TRUNCATE ON public.store_orders FOR EACH STATEMENT EXECUTE FUNCTION public.store_orders_changed();
ALTER TABLE public.store_orders ENABLE ALWAYS TRIGGER store_orders_changed;
GRANT SELECT ON SEQUENCE public.store_orders_revision TO PUBLIC;
