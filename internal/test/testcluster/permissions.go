package testcluster

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/test/testkit"
)

// AsServiceAccount returns a copy of config that uses the token of a new ServiceAccount. In its namespace, this has the
// permissions of the rules, and no others.
func AsServiceAccount(t testing.TB, config *rest.Config, namespace, account string, rules []rbacv1.PolicyRule) *rest.Config {
	t.Helper()
	client := kubernetes.NewForConfigOrDie(config)
	meta, create := metav1.ObjectMeta{Name: account}, metav1.CreateOptions{}
	accounts := client.CoreV1().ServiceAccounts(namespace)
	testkit.Must(accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: meta}, create))(t)
	testkit.Must(client.RbacV1().Roles(namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}, create))(t)
	testkit.Must(client.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
	}, create))(t)

	// The API server learns of new roles by a watch, like any other client.
	rule := rules[0]
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: username(namespace, account),
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: rule.Resources[0],
		},
	}}
	testkit.Await(t, "the permissions of "+review.Spec.User, func() bool {
		return testkit.Must(client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, create))(t).Status.Allowed
	})

	token := testkit.Must(accounts.CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, create))(t)
	as := rest.AnonymousClientConfig(config)
	as.QPS, as.BearerToken = config.QPS, token.Status.Token
	return as
}

// username is the name of a ServiceAccount as a user.
func username(namespace, account string) string {
	return "system:serviceaccount:" + namespace + ":" + account
}

// Rules returns the rules of all ClusterRoles and Roles of a manifest.
func Rules(manifest string) (rules []rbacv1.PolicyRule, err error) {
	file, err := os.Open(manifest)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for decoder := yaml.NewYAMLOrJSONDecoder(file, 4096); ; {
		var role rbacv1.ClusterRole // a Role has the same fields
		err := decoder.Decode(&role)
		if errors.Is(err, io.EOF) && len(rules) > 0 {
			return rules, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the roles of %s: %w", manifest, err)
		}
		rules = append(rules, role.Rules...)
	}
}
