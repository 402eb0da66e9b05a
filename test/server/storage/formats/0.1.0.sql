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
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.store_orders (
    id bigint NOT NULL,
    pet_id bigint,
    quantity bigint,
    ship_date text,
    complete boolean,
    status text NOT NULL
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
    revoked_at text
);
CREATE TABLE public.store_orders_keys_revision (
    one boolean NOT NULL,
    revision text NOT NULL,
    CONSTRAINT store_orders_keys_revision_one_check CHECK (one)
);
ALTER TABLE public.store_orders_keys ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.store_orders_keys_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.store_orders_schema (
    part text NOT NULL,
    version integer NOT NULL
);
INSERT INTO public.store_orders VALUES (-1, NULL, NULL, NULL, false, 'shipped');
INSERT INTO public.store_orders VALUES (0, NULL, NULL, NULL, NULL, 'on_hold');
INSERT INTO public.store_orders VALUES (9223372036854775807, -9223372036854775808, 3, '2026-07-16T00:00:00Z', true, 'pending');
INSERT INTO public.store_orders VALUES (7, NULL, NULL, NULL, NULL, 'cancelled');
INSERT INTO public.store_orders_keys OVERRIDING SYSTEM VALUE VALUES ('key_Npv64BG5yH', 1, '7c8aeb0b5f62e21aabbccc466d018f4e2e8072c4ec904a9504d8f39e0d3e4d25', 'Ann', 'enterprise', 5, 9, '2026-11-22T22:32:22.070Z', NULL);
INSERT INTO public.store_orders_keys OVERRIDING SYSTEM VALUE VALUES ('key_eI9MwFiB91', 2, 'b506aa2e873eb1b02d06f7cd3b37a81adc6c23179ed609aa4595923c9461fcb0', NULL, 'pro', NULL, NULL, '2026-11-22T22:32:22.664Z', '2026-11-22T22:32:23.195Z');
INSERT INTO public.store_orders_keys_revision VALUES (true, 'OUMKTwf6vnBQ2HWI');
INSERT INTO public.store_orders_schema VALUES ('orders', 1);
INSERT INTO public.store_orders_schema VALUES ('keys', 1);
SELECT pg_catalog.setval('public.store_orders_keys_seq_seq', 2, true);
ALTER TABLE ONLY public.store_orders_keys
    ADD CONSTRAINT store_orders_keys_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.store_orders_keys
    ADD CONSTRAINT store_orders_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.store_orders_keys_revision
    ADD CONSTRAINT store_orders_keys_revision_pkey PRIMARY KEY (one);
ALTER TABLE ONLY public.store_orders
    ADD CONSTRAINT store_orders_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.store_orders_schema
    ADD CONSTRAINT store_orders_schema_pkey PRIMARY KEY (part);
