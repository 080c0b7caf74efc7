"""What the name of a column lets one expect of it, in English and in German."""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DIGITS = re.compile(r"(?<=[a-z])(?=[0-9])|(?<=[0-9])(?=[a-z])")
_SPELT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


class Hint(Enum):
    """What a name says: the pattern is searched in the words of the name, in lower case between underscores."""

    EMAIL = r"_(e_?mails?|mail)(_|_?addresse?s?_|_?adressen?_)"
    PHONE = (
        r"_(tele)?phones?_|_(tel|telefon|mobile|mobil|handy|cell|fax|msisdn|cellphone)_"
        r"|_(telefon|mobil|handy|fax|ruf|phone|mobile)_?(nummer|nr|number|no)_"
    )
    NAME = (
        r"^_names?_$|_(vor|nach|ruf|familien|geburts|kunden|patienten|mitarbeiter|benutzer)_?name[ns]?_"
        r"|_(sur|fore|last|first|middle|full|maiden|given|family|nick|user|login)_?names?_"
        r"|_(customer|client|patient|person|employee|student|member|contact|holder|owner|doctor|author)_name_"
        r"|_(name|person|kunde|patient)_?(vor|nach)?name_|_(initials|ansprechpartner|contact_person)_"
    )
    ADDRESS = r"_(address|adresse|anschrift|street|strasse|str|house_number|hausnummer|hausnr|postfach)_|strasse_"
    ZIP = r"_(zip|zipcode|zip_?code|postcode|post_?code|postal(_?code)?|postleitzahl|plz)_"
    LOCATION = r"_(lat|lon|lng|latitude|longitude|breitengrad|laengengrad|geo|gps|coordinates?|koordinaten?)_"
    PLACE = (
        r"_(city|town|village|place|county|municipality|district|region|state|province|canton|country|nation)_"
        r"|_(ort|stadt|wohnort|geburtsort|gemeinde|kreis|landkreis|bundesland|land|kanton)_"
    )
    URL = r"_(url|uri|website|webseite|homepage|link)_"
    IP = r"_(ip|ipv4|ipv6|mac)_((address|adresse)_)?$|_ipad+ress?e?_"
    BANK = r"_(iban|bic|swift|konto|kontonummer|kontonr|account_number|bank_account)_"
    CARD = (
        r"_(credit|debit|kredit)_?(card|karte|kartennummer)|_(card|karten)_?(number|nummer|nr|no)_"
    )
    OFFICIAL = (
        r"_(ssn|social_security\w*|svnr|sozialversicherung\w*|tin|tax_id|passport\w*|national_id|ausweis\w*)_"
        r"|_(steuer_?(id|nr|nummer)|pass_?(nr|nummer)|personalausweis\w*|fuehrerschein\w*|versichertennummer)_"
        r"|_(driver\w*_licen[cs]e\w*|licen[cs]e_plate|kennzeichen|insurance_number)_"
    )
    SECRET = (
        r"_(password|passwort|passwd|pwd|secret|api_key|pin|salt|password_hash|access_token|token)_"
    )
    BIRTH = r"_(birth\w*|dob|born|bday|geb|gebdat\w*|geburt\w*)_"
    AGE = r"_(age|alter|lebensalter)_"
    YEAR = r"_(year|jahr|yr|jahrgang)_|jahr_"
    LOADED = (
        r"_(load|loaded|batch|etl|import|imported|ingest|ingested|insert|inserted|snapshot|extract|extracted)_"
        r"|_(ladedatum|stichtag|as_of|valid_from|valid_to|gueltig\w*|processed|exported)_"
    )
    GENDER = r"_(gender|sex|geschlecht|anrede|salutation)_"
    SENSITIVE = (
        r"_(disease|diagnos\w*|icd\w*|illness|krankheit\w*|befund\w*|medication|medikament\w*|drugs?|therap\w*)_"
        r"|_(religion|konfession|faith|race|ethnic\w*|nationality|nationalitaet|staatsangehoerigkeit|citizenship)_"
        r"|_(party|partei|political\w*|gewerkschaft|orientation|sexual\w*|disab\w*|behinder\w*|smok\w*|rauch\w*)_"
        r"|_(alcohol|pregnan\w*|schwanger\w*|hiv|blood\w*|blut\w*|marital\w*|familienstand|convict\w*|criminal\w*)_"
        r"|_(vorstrafe\w*|segment|credit_(rating|score|risk)|bonitaet\w*|default(ed)?|welfare|insolv\w*)_"
    )
    MONEY = (
        r"_(income|salary|wages?|revenue|sales|price|amount|balance|debts?|loan|payment|tax|costs?|fee|profit|rent)_"
        r"|_(gehalt|lohn|einkommen|umsatz|preis|betrag|saldo|schulden|kredit|zahlung|steuer|kosten|gewinn|miete)_"
        r"|_(turnover|spend\w*|expenses?|gebuehr|vermoegen|capital|premium)_"
    )
    COUNT = (
        r"^_(n|num|no_of)_|_(count|cnt|number_of|qty|quantity|visits|orders|children)_"
        r"|_(anzahl|anz|menge|besuche|bestellungen|kinder|kinderzahl)_"
    )
    FREE = (
        r"_(notes?|comments?|remarks?|description|text|message|feedback|memo|reason)_"
        r"|_(bemerkung\w*|kommentar\w*|notiz\w*|beschreibung|freitext|nachricht|anmerkung\w*)_"
    )
    ID = (
        r"_(id|ids|uid|uuid|guid|key|pk|nr|no|nummer|kennung|identifier|schluessel)_$|^_id_"
        r"|(kunden|patienten|personen|mitglieds|auftrags|vertrags|bestell|rechnungs|konto|fall)_?(id|nr|nummer)_"
        r"|_(customer|client|patient|person|member|account|order|user|case|record|row|invoice|contract)_?(id|nr|no)_"
        r"|_(customer|client|patient|person|member|order|invoice|contract)_number_"
    )
    PERSON = (
        r"_(customer|client|patient|person|user|member|account|employee|student|subject|household|insured)(id)?_"
        r"|_(kunden?|klient\w*|patienten|personen|mitglieds?|mitarbeiter|versicherten?|probanden?|haushalts?)"
    )


def words_of(name: str) -> str:
    """The words of a name in lower case, between underscores: customerID and 'Customer id' are _customer_id_."""
    parts = _CAMEL.sub("_", name).lower().translate(_SPELT)
    return f"_{'_'.join(filter(None, re.split(r'[^a-z0-9]+', _DIGITS.sub('_', parts))))}_"


@lru_cache(maxsize=4096)
def hints(name: str) -> frozenset[Hint]:
    """All that a name hints at."""
    words = words_of(name)
    return frozenset(hint for hint in Hint if re.search(hint.value, words))
