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
CREATE TABLE public.store_orders_versions (
    part text NOT NULL,
    version integer NOT NULL
);
INSERT INTO public.store_orders VALUES (-1, NULL, NULL, NULL, false, 'shipped');
INSERT INTO public.store_orders VALUES (0, NULL, NULL, NULL, NULL, 'on_hold');
INSERT INTO public.store_orders VALUES (9223372036854775807, -9223372036854775808, 3, '2026-07-16T00:00:00Z', true, 'pending');
INSERT INTO public.store_orders VALUES (7, NULL, NULL, NULL, NULL, 'cancelled');
INSERT INTO public.store_orders_keys OVERRIDING SYSTEM VALUE VALUES ('key_hVrwleXJPQ', 1, '046793b860ce88a47ac2fb29f6d02da32b7da55af1bc3211bab52307597373f5', 'Ann', 'enterprise', 5, 9, '2026-11-24T02:48:03.497Z', NULL, NULL);
INSERT INTO public.store_orders_keys OVERRIDING SYSTEM VALUE VALUES ('key_Jmby7m95vh', 2, 'c9021ba99f8234b0fe25d52d3e31d85cfb23e6c25889f3c06bddd8db7205316b', NULL, 'free', NULL, NULL, '2026-11-24T02:48:03.652Z', NULL, NULL);
INSERT INTO public.store_orders_keys OVERRIDING SYSTEM VALUE VALUES ('key_FNmNkBkZxq', 4, 'fad4ddeaa2fb3402cd6c94b3ecf2199520e34ff48ca40d1e09c7a0afee3e8981', NULL, 'pro', NULL, NULL, '2026-11-24T02:48:04.079Z', NULL, '2026-11-24T02:48:04.945Z');
INSERT INTO public.store_orders_keys OVERRIDING SYSTEM VALUE VALUES ('key_SOlT3nvXUq', 3, 'd3874827c9d262897302a2dc9d8f8febf43380d5e1400015c2cb4e8a4ad591f6', NULL, 'pro', NULL, NULL, '2026-11-24T02:48:03.848Z', '2026-11-24T02:48:04.318Z', NULL);
INSERT INTO public.store_orders_versions VALUES ('orders', 1);
INSERT INTO public.store_orders_versions VALUES ('keys', 1);
SELECT pg_catalog.setval('public.store_orders_keys_seq_seq', 4, true);
ALTER TABLE ONLY public.store_orders_keys
    ADD CONSTRAINT store_orders_keys_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.store_orders_keys
    ADD CONSTRAINT store_orders_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.store_orders
    ADD CONSTRAINT store_orders_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.store_orders_versions
    ADD CONSTRAINT store_orders_versions_pkey PRIMARY KEY (part);
